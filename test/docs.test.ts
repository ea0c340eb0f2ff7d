import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AUDITED_COMMANDS } from '../appliance/commands/audited-command.ts'

/** What pages say of the program and of each other is so. */

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: root })]

/** Without code, in which brackets are no links. */
const prose = (text: string): string =>
  text
    .replaceAll(/^```[^]*?^```/gm, '')
    .replaceAll(/^ {4}.*$/gm, '')
    .replaceAll(/`[^`\n]*`/g, '')

/** Headings as the links of a page name them: small letters, hyphens for spaces, other marks left out. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>()
  return [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)].map(([, title]) => {
    const words = title!.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    const slug = words.replaceAll(' ', '-')
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    return times === 0 ? slug : `${slug}-${times}`
  })
}

function brokenLinks(page: string): string[] {
  const links = [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? join(root, page) : resolve(root, dirname(page), path)
    if (!existsSync(file)) return true
    return anchor !== undefined && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor)
  })
}

describe.each(pages)('%s', (page) => {
  test('the page has no broken links', () => {
    expect(brokenLinks(page)).toEqual([])
  })
})

test('docs/README.md links to every page', () => {
  const linked = [...read('docs/README.md').matchAll(/\]\(([a-z0-9-]+\.md)[#)]/g)].map(([, page]) => page!)
  const there = globSync('*.md', { cwd: join(root, 'docs') }).filter((page) => page !== 'README.md')
  expect(there.filter((page) => !linked.includes(page))).toEqual([])
})

test('every docs page referenced by path exists', () => {
  const texts = [
    '{appliance,ui/src}/**/*.{ts,svelte,toml}',
    '{config,container,systemd,scripts,ops}/**',
    'docs/**/*.md',
    '*.md',
  ]
  const named = texts
    .flatMap((pattern) => globSync(pattern, { cwd: root, withFileTypes: true }))
    .filter((one) => one.isFile() && !/\.(png|gz|ico)$/.test(one.name))
    .flatMap(
      (one) => readFileSync(join(one.parentPath, one.name), 'utf8').match(/\bdocs\/[a-z0-9-]+\.md/g) ?? [],
    )
  expect(new Set(named).size).toBeGreaterThan(30)
  expect([...new Set(named)].filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('docs/monitoring.md lists exactly the alerts, with their severity', () => {
  const rows = (text: string, row: RegExp) =>
    [...text.matchAll(row)].map(([, name, severity]) => ({ name, severity }))
  const alerts = rows(read('ops/prometheus-alerts.yml'), /- alert: (\w+)[^]*?severity: (\w+)/g)
  const named = rows(read('docs/monitoring.md'), /^\| `(Posthaste\w+)` *\| (\w+)/gm)
  expect(alerts.length).toBeGreaterThan(10)
  expect(named).toEqual(alerts)
})

test('the repository layout in README.md lists each folder once', () => {
  const [, map] = /## Repository layout\n\n([^]*?)\n(?:\n|$)/.exec(read('README.md'))!
  const told = map!.split('\n').flatMap((row) => {
    const [first, ...others] = [...row.split('|')[1]!.matchAll(/`([^`]+)\/`/g)].map(([, folder]) => folder!)
    return first === undefined ? [] : [first, ...others.map((name) => join(dirname(first), name))]
  })
  const left = ['node_modules', 'dist', 'ui/dist', 'ui/src']
  const folders = globSync(['*/', 'appliance/*/', 'ui/*/', 'ui/src/*/'], { cwd: root })
    .map((path) => path.replace(/\/$/, ''))
    .filter((path) => !path.startsWith('.') && !left.includes(path))
  expect(told.toSorted()).toEqual(folders.toSorted())
})

test('docs/dependencies.md lists exactly the packages in package.json', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, object>
  const tables = read('docs/dependencies.md')
    .split('\n')
    .filter((row) => row.startsWith('| `'))
  const named = tables.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  )
  const packages = [dependencies!, devDependencies!].flatMap((one) => Object.keys(one))
  expect(named.toSorted()).toEqual(packages.toSorted())
})

describe('the action table in docs/audit.md', () => {
  const [, table] = /## Recorded actions\n\n([^]*?)\n\n/.exec(read('docs/audit.md'))!
  const told = table!
    .split('\n')
    .slice(2)
    .flatMap((row) => [...row.split('|')[1]!.matchAll(/`([a-z_.*]+)`/g)].map(([, action]) => action!))

  /** Those of the commands, and those that the program says in so many words; `queue.${action}` gives `queue.*`. */
  const actions = new Set([
    ...Object.values(AUDITED_COMMANDS).map(({ action }) => action),
    ...globSync('appliance/**/*.ts', { cwd: root }).flatMap((file) =>
      [
        ...read(file).matchAll(
          /(?:\b(?:action|audit): |\bcreateOperatorOptions\(deps, )['`]([a-z_]+\.(?:[a-z_]+|\$))/g,
        ),
      ].map(([, action]) => action!.replace('$', '*')),
    ),
  ])
  const fits = (action: string, row: string): boolean =>
    row.endsWith('*') ? action.startsWith(row.slice(0, -1)) : action === row

  test('lists every action that the code records', () => {
    expect(actions.size).toBeGreaterThan(50)
    expect([...actions].filter((action) => !told.some((row) => fits(action, row)))).toEqual([])
  })

  test('lists no action that the code never records', () => {
    expect(told.filter((row) => ![...actions].some((action) => fits(action, row)))).toEqual([])
  })
})
