/** The command line as data, from which the reference, the man page and the completions are generated. */
import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../../appliance/commands/program.ts'

/** A command or a group of commands. */
export interface CommandRow {
  /** Words of the command, such as `['queue', 'list']`; empty for the program itself. */
  path: string[]
  description: string
  /** Names of the subcommands; empty for a command that can be run. */
  children: string[]
  arguments: readonly Argument[]
  /** Options except `--help`, which all commands have. */
  options: readonly Option[]
}

/** The kind of value after an option or as an argument: nothing, a file, one of several words, or any text. */
export type ValueKind = 'nothing' | 'file' | 'anything' | readonly string[]

/** Lists the program, its groups and its commands, parents before children. Runs no command. */
export function listCommands(): CommandRow[] {
  const program = createProgram(
    () => Promise.reject(new Error('not for running')),
    '',
    () => undefined,
  )
  return rowsOf(program, [])
}

function rowsOf(command: Command, path: string[]): CommandRow[] {
  const own: CommandRow = {
    path,
    description: command.description(),
    children: command.commands.map((child) => child.name()),
    arguments: command.registeredArguments,
    options: command.options,
  }
  return [own, ...command.commands.flatMap((child) => rowsOf(child, [...path, child.name()]))]
}

/** Matches placeholders for a path. */
const PATHS = /<(file|directory)>/

/** Returns the kind of value that an option takes. */
export function getOptionValueKind({ flags, argChoices, required, optional }: Option): ValueKind {
  if (argChoices) return argChoices
  if (!required && !optional) return 'nothing'
  return PATHS.test(flags) ? 'file' : 'anything'
}

/** Returns the kind of value that an argument takes. */
export function getArgumentValueKind(argument: Argument): ValueKind {
  return argument.argChoices ?? (argument.name() === 'file' ? 'file' : 'anything')
}

/** Formats an argument for a usage line: `<name>`, `[name]` or `<name=value...>`. */
export function formatArgument(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}
