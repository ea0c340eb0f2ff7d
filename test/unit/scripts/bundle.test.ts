import { globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { EXTERNAL } from '../../../scripts/bundled.ts'
import { PROGRAM } from '../../world/program.ts'

const project = join(import.meta.dirname, '../../..')
const sources = join(project, 'appliance')
const program = join(PROGRAM, '..')
const read = (file: string): string => readFileSync(file, 'utf8')

test('every file that a source starts as a thread or process is beside the program', () => {
  const started = globSync('**/*.ts', { cwd: sources }).flatMap((file) =>
    [...read(join(sources, file)).matchAll(/(?:new Worker\(|script: )new URL\([\'"`]([^)]*?)\.ts/g)].map(
      (found) => found[1]!,
    ),
  )
  // Each storage engine starts two threads by name.
  const engines = ['reader', 'writer', 'postgres-reader', 'postgres-writer']
  const named = [...started.filter((name) => name !== './${name}'), ...engines].map((name) => basename(name))
  // Readers are started alone, too.
  const names = [...new Set(named)]
  expect(names.sort()).toEqual([
    'compose-worker',
    'json-worker',
    'mime-worker',
    'postgres-reader',
    'postgres-wire',
    'postgres-writer',
    'reader',
    'report-worker',
    'returned-worker',
    'writer',
  ])
  expect(readdirSync(program)).toEqual(expect.arrayContaining(names.map((name) => `${name}.js`)))
})

test('no file of the program names a source, and of the packages only those that stay outside', () => {
  for (const file of globSync('*.js', { cwd: program })) {
    const text = read(join(program, file))
    expect(text.match(/new URL\([\'"`][^)]*\.ts[\'"`]/g) ?? [], file).toEqual([])
    const imported = [...text.matchAll(/^import .*? from "([^"./][^"]*)"/gm)].map((found) => found[1]!)
    const foreign = imported.filter((name) => !name.startsWith('node:') && !builtin(name))
    expect(
      foreign.filter((name) => !EXTERNAL.some((one) => name === one || name.startsWith(`${one}/`))),
    ).toEqual([])
  }
})

const builtin = (name: string): boolean => process.getBuiltinModule(name) !== undefined

test('every way to start the program gives the runtime the same settings', () => {
  const starts = [
    'scripts/runtime.sh',
    'scripts/packaging/posthaste',
    'container/posthaste',
    'scripts/benches/real-daemon.ts',
  ]
  const settings = starts.map((file) => [...new Set(read(join(project, file)).match(/--max-[a-z-]+=\d+/g))])
  expect(settings).toEqual(starts.map(() => ['--max-semi-space-size=16']))
  const environments = starts.map((file) =>
    file === 'container/posthaste' ? 'container/Containerfile' : file,
  )
  for (const file of environments)
    expect(read(join(project, file)), file).toMatch(/\bMALLOC_ARENA_MAX(=|: ')2\b/)
})

test('every file of the program can be kept with one byte a character', () => {
  for (const file of globSync('*.js', { cwd: program }))
    expect(/[^\0-\x7f]/.test(read(join(program, file))), file).toBe(false)
})
