import type { Command } from 'commander'
import { audited, type Typed } from './audited-command.ts'
import { withContext, type Adapters, type CommonOptions, type Context } from './context.ts'
import { teamToActFor } from './which-team.ts'

/** A command's work; it returns nothing when all is done. */
type Work<O> = (context: Context, options: O) => Promise<void>

/** Puts commands into the program, all with the same options and the same way of ending. */
export interface Registrar {
  /** A noun whose verbs are commands: `domain`. */
  group: (name: string, description: string) => Command
  /** A command with the options that all have; at the top without a parent. */
  add: (name: string, description: string, parent?: Command) => Command
  /** The same with `--team`: it acts for the team that `context.team()` then returns. */
  addInTeam: (name: string, description: string, parent?: Command) => Command
  /** The action of a command that works on the appliance. */
  does: <O extends object>(work: Work<O>) => (options: O & CommonOptions, command: Command) => Promise<void>
  /** The same for a command that comes before the first start: it makes the database where there is none. */
  doesFirst: Registrar['does']
  /** The same for a command with one argument. */
  doesTo: (
    work: (context: Context, argument: string) => Promise<void>,
  ) => (argument: string, options: CommonOptions, command: Command) => Promise<void>
  /** The same for a command with several arguments, and options of its own. */
  doesWith: <O extends object>(
    work: (context: Context, given: string[], options: O) => Promise<void>,
  ) => (...parameters: unknown[]) => Promise<void>
  /** Tells the exit code. */
  finish: (code: number) => void
}

/** @param finish is told the exit code of the command that ran */
export function createRegistrar(
  program: Command,
  adapters: Adapters,
  finish: (code: number) => void,
): Registrar {
  type Run = (
    options: CommonOptions,
    typed: Typed,
    work: (context: Context) => Promise<void>,
  ) => Promise<void>
  const runOn =
    (first: boolean): Run =>
    async (options, typed, work) =>
      finish(await withContext({ ...options, first }, adapters, (context) => audited(typed, context, work)))
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
    addInTeam: (name, description, parent) => add(name, description, parent).addOption(teamToActFor()),
    does: doesBy(run),
    doesFirst: doesBy(runOn(true)),
    doesTo: (work) => async (argument, options, command) =>
      run(options, { name: nameOf(command), given: [argument], options }, (context) =>
        work(context, argument),
      ),
    doesWith:
      <O extends object>(work: (context: Context, given: string[], options: O) => Promise<void>) =>
      async (...parameters: unknown[]) => {
        // Commander passes the arguments, then the options, then the command itself.
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

/** `domain add`: the name with that of its group. */
function nameOf(command: Command): string {
  const names: string[] = []
  for (let one: Command | null = command; one?.parent; one = one.parent) names.unshift(one.name())
  return names.join(' ')
}
