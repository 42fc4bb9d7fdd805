/* See launch.h. */
#include "spec/launch.h"

#include "base/mem.h"

void command_done(struct command *command)
{
    vec_free(&command->words);
}

void launch_done(struct launch *launch)
{
    free(launch->image);
    command_done(&launch->command);
    command_done(&launch->args);
    vec_each (struct env_var, it, &launch->env) {
        free(it->name);
        free(it->value);
    }
    vec_done(&launch->env);
    *launch = (struct launch){0};
}
