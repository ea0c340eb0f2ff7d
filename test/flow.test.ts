import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

describe('docs/flow.md', () => {
  const text = readFileSync(join(root, 'docs/flow.md'), 'utf8')

  test('docs/flow.md refers only to files and functions that exist', () => {
    const named = [...text.matchAll(/`([\w./-]+\.(?:ts|toml|md))`(?::\s*`(\w+)`)?/g)]
    expect(named.length).toBeGreaterThan(30)
    // A file without its folder is in that of the file before it.
    let folder = ''
    const missing = named.filter(([, file, name]) => {
      const path = /^(appliance|config|docs)\//.test(file!) ? file! : join(folder, file!)
      if (path.startsWith('appliance/')) folder = path.split('/').slice(0, 2).join('/')
      try {
        const source = readFileSync(join(root, path), 'utf8')
        const definition = new RegExp(
          `\\b(function|const|class) ${name}\\b|^ +(async )?${name}\\(|\\b${name}:`,
          'm',
        )
        return name !== undefined && !definition.test(source)
      } catch {
        return true // the file is not there
      }
    })
    expect(missing.map(([whole]) => whole)).toEqual([])
  })
})
