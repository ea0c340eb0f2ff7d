import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const files = globSync('{appliance,ui,scripts,test}/**/*.{ts,svelte}', {
  cwd: root,
  exclude: (path) => path === 'ui/dist',
})
const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))

/** The names of a list in braces, as the other file calls them: `a, type b as c` has a and b. */
const listed = (braces: string): string[] =>
  braces.split(',').flatMap((one) => /^\s*(?:type\s+)?(\w+)/.exec(one)?.[1] ?? [])

/** What a file lets others have: its functions, classes and values, and all that it hands on of other files. */
function offered(source: string): string[] {
  const own = source.matchAll(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm)
  const handedOn = source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)
  return [
    ...[...own].map((match) => match[1]!),
    ...[...handedOn].flatMap((match) =>
      match[1]!.split(',').flatMap((one) => /(\w+)\s*$/.exec(one)?.[1] ?? []),
    ),
  ]
}

/** What a file has of others, as `file#name`; `file#*` where it has all of one. */
function taken(file: string, source: string): string[] {
  const from = (path: string, names: string[]) =>
    names.map((name) => `${normalize(join(dirname(file), path))}#${name}`)
  const statements = source.matchAll(/^\s*(?:import|export)\s([^'";]+?)\sfrom\s+'(\.[^']+)'/gm)
  const later = source.matchAll(/\bimport\(\s*'(\.[^']+)'\s*\)/g)
  return [
    ...[...statements].flatMap(([, clause, path]) => {
      const braces = /\{([^}]*)\}/.exec(clause!)?.[1]
      return from(path!, braces === undefined ? ['*'] : listed(braces))
    }),
    ...[...later].flatMap(([, path]) => from(path!, ['*'])),
  ]
}

/** Schemas and operations of the API document: `scripts/generators/openapi.ts` finds them by their folder. */
function documented(): Set<string> {
  const text = readFileSync(join(root, 'appliance/api/openapi.json'), 'utf8')
  const { components } = JSON.parse(text) as { components: { schemas: object } }
  const operations = [...text.matchAll(/"operationId": "(\w+)"/g)].map(([, id]) => id!)
  return new Set([...Object.keys(components.schemas), ...operations])
}

test('every export of the daemon and the dashboard is imported by another file', () => {
  const all = new Set([...sources].flatMap(([file, source]) => taken(file, source)))
  const shown = files.filter((file) => file.endsWith('.ts') && /^(?:appliance|ui)\/(?!vite)/.test(file))
  const named = documented()
  const unused = shown.flatMap((file) =>
    offered(sources.get(file)!)
      .filter((name) => !(file.startsWith('appliance/api/') && named.has(name)))
      .map((name) => `${file}#${name}`)
      .filter((name) => !all.has(name) && !all.has(`${file}#*`)),
  )
  expect(shown.length).toBeGreaterThan(500)
  expect(unused).toEqual([])
})
