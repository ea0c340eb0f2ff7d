import type { Command } from 'commander'
import { runAudited, type CommandInvocation } from './audited-command.ts'
import { withContext, type Adapters, type CommonOptions, type Context } from './context.ts'
import { createTeamOption } from './which-team.ts'

/** The implementation of a command; it resolves on success. */
type Work<O> = (context: Context, options: O) => Promise<void>

/** Registers commands with common options and error handling. */
export interface Registrar {
  /** Creates a group of commands, such as `domain`. */
  group: (name: string, description: string) => Command
  /** Creates a command with the common options, at the top level without a parent. */
  add: (name: string, description: string, parent?: Command) => Command
  /** Creates a command with `--team`, which selects the team that `context.team()` returns. */
  addInTeam: (name: string, description: string, parent?: Command) => Command
  /** Creates the action of a command that works on the whole server. */
  does: <O extends object>(work: Work<O>) => (options: O & CommonOptions, command: Command) => Promise<void>
  /** Like `does`, but for commands before the first start: creates the database if there is none. */
  doesFirst: Registrar['does']
  /** Like `does`, for a command with one argument. */
  doesTo: (
    work: (context: Context, argument: string) => Promise<void>,
  ) => (argument: string, options: CommonOptions, command: Command) => Promise<void>
  /** Like `does`, for a command with several arguments and its own options. */
  doesWith: <O extends object>(
    work: (context: Context, given: string[], options: O) => Promise<void>,
  ) => (...parameters: unknown[]) => Promise<void>
  /** Reports the exit code. */
  finish: (code: number) => void
}

/**
 * Creates a registrar.
 *
 * @param finish receives the exit code of the command
 */
export function createRegistrar(
  program: Command,
  adapters: Adapters,
  finish: (code: number) => void,
): Registrar {
  type Run = (
    options: CommonOptions,
    typed: CommandInvocation,
    work: (context: Context) => Promise<void>,
  ) => Promise<void>
  const runOn =
    (first: boolean): Run =>
    async (options, typed, work) =>
      finish(
        await withContext({ ...options, first }, adapters, (context) => runAudited(typed, context, work)),
      )
  const run = runOn(false)
  const doesBy =
    (runs: Run): Registrar['does'] =>
    (work) =>
    async (options, command) =>
      runs(options, { name: nameOf(command), given: [], options }, (context) => work(context, options))
  const add: Registrar['add'] = (name, description, parent = program) =>
    parent
      .command(name)
      .description(description)
      .option('-c, --config <file>', 'Configuration file (default: /etc/posthaste/posthaste.toml)')
      .option('--json', 'Print the result as JSON')
  return {
    group: (name, description) => program.command(name).description(description),
    add,
    addInTeam: (name, description, parent) => add(name, description, parent).addOption(createTeamOption()),
    does: doesBy(run),
    doesFirst: doesBy(runOn(true)),
    doesTo: (work) => async (argument, options, command) =>
      run(options, { name: nameOf(command), given: [argument], options }, (context) =>
        work(context, argument),
      ),
    doesWith:
      <O extends object>(work: (context: Context, given: string[], options: O) => Promise<void>) =>
      async (...parameters: unknown[]) => {
        // Commander passes the arguments, then the options, then the command.
        const command = parameters.at(-1) as Command
        const options = parameters.at(-2) as O & CommonOptions
        const given = parameters.slice(0, -2) as string[]
        await run(options, { name: nameOf(command), given, options }, (context) =>
          work(context, given, options),
        )
      },
    finish,
  }
}

/** Returns a command's name with its group: `domain add`. */
function nameOf(command: Command): string {
  const names: string[] = []
  for (let one: Command | null = command; one?.parent; one = one.parent) names.unshift(one.name())
  return names.join(' ')
}
