import { globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { EXTERNAL_PACKAGES } from '../../../scripts/bundled.ts'
import { PROGRAM } from '../../world/program.ts'

const project = join(import.meta.dirname, '../../..')
const sources = join(project, 'appliance')
const program = join(PROGRAM, '..')
const read = (file: string): string => readFileSync(file, 'utf8')

test('every file that is started as a thread or process is bundled next to the program', () => {
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

test('no file of the program refers to a source file, or imports a package that is not external', () => {
  for (const file of globSync('*.js', { cwd: program })) {
    const text = read(join(program, file))
    expect(text.match(/new URL\([\'"`][^)]*\.ts[\'"`]/g) ?? [], file).toEqual([])
    const imported = [...text.matchAll(/^import .*? from "([^"./][^"]*)"/gm)].map((found) => found[1]!)
    const foreign = imported.filter((name) => !name.startsWith('node:') && !builtin(name))
    expect(
      foreign.filter((name) => !EXTERNAL_PACKAGES.some((one) => name === one || name.startsWith(`${one}/`))),
    ).toEqual([])
  }
})

const builtin = (name: string): boolean => process.getBuiltinModule(name) !== undefined

test('all scripts that start the program use the same runtime settings', () => {
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

test('all files of the program are ASCII, so that the engine stores one byte per character', () => {
  for (const file of globSync('*.js', { cwd: program }))
    expect(/[^\0-\x7f]/.test(read(join(program, file))), file).toBe(false)
})
