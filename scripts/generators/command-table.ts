/** The command line as data: what the reference, the man page and the completions are made from. */
import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../../appliance/commands/program.ts'

/** One command or group of commands. */
export interface CommandRow {
  /** `['queue', 'list']`; empty for the program itself. */
  path: string[]
  description: string
  /** Names of the commands in it; empty for one that does something. */
  children: string[]
  arguments: readonly Argument[]
  /** Without `--help`, which all have. */
  options: readonly Option[]
}

/** What is typed after an option or as an argument: nothing, a file, one of some words, or anything. */
export type Takes = 'nothing' | 'file' | 'anything' | readonly string[]

/** The program, its groups and its commands, each before those in it. Nothing is run. */
export function commandTable(): CommandRow[] {
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

/** Placeholders that stand for a path. */
const PATHS = /<(file|directory)>/

/** What an option takes. */
export function optionTakes({ flags, argChoices, required, optional }: Option): Takes {
  if (argChoices) return argChoices
  if (!required && !optional) return 'nothing'
  return PATHS.test(flags) ? 'file' : 'anything'
}

/** What an argument takes. */
export function argumentTakes(argument: Argument): Takes {
  return argument.argChoices ?? (argument.name() === 'file' ? 'file' : 'anything')
}

/** `<name>`, `[name]`, `<name=value...>`: an argument as usage lines show it. */
export function argumentWord(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}
