/* See command.h. */
#include "spec/command.h"

#include "base/mem.h"

void command_done(struct command *command)
{
    vec_each (char *, word, &command->words) {
        free(*word);
    }
    vec_done(&command->words);
    *command = (struct command){0};
}
