/* The shells' scripts, ctl/verbs/completion.*, compiled in; made by embed_text.py. */
#pragma once

extern const char completion_text_bash[], completion_text_zsh[], completion_text_fish[];
