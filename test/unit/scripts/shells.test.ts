import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listCommands } from '../../../scripts/generators/command-table.ts'
import { escapeTroff } from '../../../scripts/generators/man-page.ts'

const root = join(import.meta.dirname, '../../..')
const has = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).status === 0
const page = join(root, 'docs/man/posthaste.1')

describe('the command table', () => {
  test('the command table lists the program first, and each group before its commands', () => {
    const paths = listCommands().map(({ path }) => path.join(' '))
    expect(paths[0]).toBe('')
    expect(paths.indexOf('queue')).toBeLessThan(paths.indexOf('queue list'))
    expect(paths).toContain('status')
  })
})

describe('the man page', () => {
  test('the man page escapes troff control characters', () => {
    expect(escapeTroff(".x 'a' \\ --json ~")).toBe('\\&.x \\(aqa\\(aq \\(rs \\-\\-json \\(ti')
  })

  test.runIf(has('groff'))('passes groff without warnings', () => {
    const { status, stderr, stdout } = spawnSync('groff', ['-man', '-ww', '-Tascii', page], {
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('Print the result as JSON')
  })

  test.runIf(has('mandoc'))('passes mandoc lint, except for the missing date', () => {
    const { stdout } = spawnSync('mandoc', ['-Tlint', page], { encoding: 'utf8' })
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((line) => !line.includes('missing date')),
    ).toEqual([])
  })
})

/** Returns bash's completions for these words; the last one is incomplete. */
function bash(...words: string[]): string[] {
  const script = `source completions/posthaste.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _posthaste; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script, 'bash', ...words], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '')
}

describe.runIf(has('bash'))('bash completion', () => {
  test('bash completes commands, subcommands, options, values and files', () => {
    expect(bash('posthaste', 'qu')).toEqual(['queue'])
    expect(bash('posthaste', 'queue', 'li')).toEqual(['list'])
    expect(bash('posthaste', 'queue', 'list', '--st')).toEqual(['--stream', '--state'])
    expect(bash('posthaste', 'queue', 'list', '--stream', '')).toEqual(['transactional', 'broadcast'])
    expect(bash('posthaste', 'queue', 'list', '--stream', '=', 'b')).toEqual(['broadcast'])
    expect(bash('posthaste', 'domain', 'bodies', 'a.test', '')).toEqual(['keep', 'discard'])
    expect(bash('posthaste', 'serve', '--config', 'package.j')).toEqual(['package.json'])
  })

  test('bash does not treat the value of an option as a command', () => {
    expect(bash('posthaste', 'queue', 'list', '--domain', 'queue', '--st')).toEqual(['--stream', '--state'])
    expect(bash('posthaste', 'queue', 'list', '--domain', '')).toEqual([])
  })
})

/** Returns fish's completions for a line. */
function fish(line: string): string[] {
  const script = `source completions/posthaste.fish; complete -C '${line}'`
  return execFileSync('fish', ['--no-config', '-c', script], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((one) => one !== '')
    .map((one) => one.split('\t')[0]!)
}

describe.runIf(has('fish'))('fish completion', () => {
  test('fish completes commands, subcommands, options and values', () => {
    expect(fish('posthaste qu')).toEqual(['queue'])
    expect(fish('posthaste queue li')).toEqual(['list'])
    expect(fish('posthaste queue list --st').toSorted()).toEqual(['--state', '--stream'])
    expect(fish('posthaste queue list --stream ').toSorted()).toEqual(['broadcast', 'transactional'])
    expect(fish('posthaste domain bodies a.test ').toSorted()).toEqual(['discard', 'keep'])
  })
})

/**
 * Types a line and a tab into an interactive zsh on a terminal of its own. Returns the terminal's output up to the
 * whole line.
 */
function zsh(line: string, whole: string): string {
  const script = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'fpath=(./completions $fpath); autoload -U compinit; compinit -u -D; stty cols 200; echo REA""DY'
zpty -r z out '*READY*'
zpty -w -n z "$1"$'\\t'
all=''
for i in {1..50}; do while zpty -r -t z out; do all+=$out; done; [[ $all == *"$2"* ]] && break; sleep 0.1; done
print -r -- $all`
  return execFileSync('zsh', ['-f', '-c', script, 'zsh', line, whole], { cwd: root, encoding: 'utf8' })
}

const ZSH: Record<string, string> = {
  'posthaste qu': 'posthaste queue',
  'posthaste queue li': 'posthaste queue list',
  'posthaste queue list --stre': 'posthaste queue list --stream',
  'posthaste queue list --stream b': 'posthaste queue list --stream broadcast',
  'posthaste domain bodies a.test k': 'posthaste domain bodies a.test keep',
}

describe.runIf(has('zsh'))('zsh completion', () => {
  test.each(Object.entries(ZSH))('zsh completes %s<TAB>', (line, whole) => {
    expect(zsh(line, whole)).toContain(whole)
  })
})
