import type { Command } from 'commander'
import { withContext, type Adapters, type CommonOptions, type Context } from './context.ts'

/** A command's work; it returns nothing when all is done. */
type Work<O> = (context: Context, options: O) => Promise<void>

/** Puts commands into the program, all with the same options and the same way of ending. */
export interface Registrar {
  /** A noun whose verbs are commands: `domain`. */
  group: (name: string, description: string) => Command
  /** A command with the options that all have; at the top without a parent. */
  add: (name: string, description: string, parent?: Command) => Command
  /** The action of a command that works on the appliance. */
  does: <O extends object>(work: Work<O>) => (options: O & CommonOptions) => Promise<void>
  /** The same for a command with one argument. */
  doesTo: (
    work: (context: Context, argument: string) => Promise<void>,
  ) => (argument: string, options: CommonOptions) => Promise<void>
  /** Tells the exit code. */
  finish: (code: number) => void
}

/** @param finish is told the exit code of the command that ran */
export function createRegistrar(
  program: Command,
  adapters: Adapters,
  finish: (code: number) => void,
): Registrar {
  return {
    group: (name, description) => program.command(name).description(description),
    add: (name, description, parent = program) =>
      parent
        .command(name)
        .description(description)
        .option('-c, --config <file>', 'configuration file (default: /etc/posthaste/posthaste.toml)')
        .option('--json', 'print the result as JSON'),
    does: (work) => async (options) =>
      finish(await withContext(options, adapters, (context) => work(context, options))),
    doesTo: (work) => async (argument, options) =>
      finish(await withContext(options, adapters, (context) => work(context, argument))),
    finish,
  }
}
