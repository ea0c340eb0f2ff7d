import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import { installation, posthaste, type Run } from './program.ts'

interface Tally {
  there: number
  added: number
  present: number
  left_out: number
  reasons: { what: string; text: string }[]
  notes: { what: string; text: string }[]
}

/** Sets up an installation before each test. Returns helpers that write files and import them. */
export function importStage() {
  let [folder, config] = ['', '']
  beforeEach(async () => {
    ;({ config } = installation('[dns]\nservers = ["127.0.0.1:9"]\n'))
    folder = mkdtempSync(join(tmpdir(), 'posthaste-import-'))
    await posthaste(['setup', '--email', 'owner@here.test', '--config', config], {
      input: 'a long password\n',
    })
  })
  const run = (...args: string[]): Promise<Run> => posthaste([...args, '--config', config])
  const pathOf = (name: string): string => join(folder, name)
  const file = (name: string, content: string | Uint8Array): string => {
    writeFileSync(pathOf(name), content)
    return pathOf(name)
  }
  const json = async <T>(...args: string[]): Promise<T> =>
    JSON.parse((await run(...args, '--json')).stdout) as T
  const bring = (from: string, ...args: string[]): Promise<Run> =>
    run('import', '--from', from, '--json', '--files', ...args)
  return { run, pathOf, file, json, bring }
}

/** Reads the report of an import, by kind. */
export const result = ({ stdout }: Run): Record<string, Tally> => JSON.parse(stdout) as Record<string, Tally>

export const tally = (there: number, added: number, present = 0, left_out = 0) => ({
  there,
  added,
  present,
  left_out,
})

export const said = (remarks: { what: string; text: string }[]) =>
  remarks.map(({ what, text }) => `${what}: ${text}`)
