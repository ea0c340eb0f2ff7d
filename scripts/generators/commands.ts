import type { Command } from 'commander'
import { createProgram } from '../../appliance/commands/program.ts'

/** Returns every command that can be run, with its full name: `domain add`. */
function leaves(command: Command, path: string[] = []): { name: string; command: Command }[] {
  if (command.commands.length === 0) return [{ name: path.join(' '), command }]
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]))
}

/** Options that every command has, documented once. */
const COMMON = new Set(['--config', '--json'])

function describe({ name, command }: { name: string; command: Command }): string {
  const words = command.registeredArguments.map((one) =>
    one.required ? `<${one.name()}>` : `[${one.name()}]`,
  )
  const options = command.options.filter((option) => !COMMON.has(option.long ?? ''))
  const rows = options.map((option) => {
    const choices = option.argChoices ? `: ${option.argChoices.join(', ')}` : ''
    const preset = option.defaultValue === undefined ? '' : ` (default: ${String(option.defaultValue)})`
    const need = option.mandatory ? ' (required)' : ''
    return `- \`${option.flags}\`: ${option.description}${choices}${preset}${need}`
  })
  return [
    `## \`${[name, ...words].join(' ')}\``,
    '',
    `${sentence(command.description())}`,
    ...(rows.length > 0 ? ['', ...rows] : []),
  ].join('\n')
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

/** Renders docs/commands.md from the program itself. */
export function renderCommands(): string {
  const program = createProgram(
    () => Promise.reject(new Error('not for running')),
    '',
    () => undefined,
  )
  return `# The command line

In a checkout, run \`./scripts/posthaste <command>\`. Commands use the configured storage, whether or not the daemon is running.

Every command accepts \`--config <file>\` (default: /etc/posthaste/posthaste.toml, or the sandbox if that file does not exist). With \`--json\`, it
prints the same objects as the API. Exit codes: 0 success; 1 refused or failed, with a one-line reason on standard error; 2 wrong usage.

${leaves(program).map(describe).join('\n\n')}
`
}
