import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listCommands } from '../../scripts/generators/command-table.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

const ops = (name: string): string => join(import.meta.dirname, '../../ops', name)
const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

let appliance: TestAppliance
let exported: Set<string>
beforeAll(async () => {
  appliance = await startAppliance({ config: { metrics: { listen: ['127.0.0.1:0'] } } })
  const text = await (await fetch(`${appliance.appliance.metrics[0]}/metrics`)).text()
  exported = new Set(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, type]) =>
      type === 'histogram' ? [`${name!}_bucket`, `${name!}_count`, `${name!}_sum`] : [name!],
    ),
  )
})
afterAll(() => appliance.close())

describe('monitoring files', () => {
  test.each(['prometheus-alerts.yml', 'grafana-dashboard.json'])(
    '%s refers only to metrics that the daemon exports',
    (file) => {
      const names = new Set(readFileSync(ops(file), 'utf8').match(/posthaste_[a-z_]+/g))
      expect(names.size).toBeGreaterThan(8)
      expect([...names].filter((name) => !exported.has(name))).toEqual([])
    },
  )

  test.runIf(has('promtool'))('promtool accepts the rules', () => {
    const { status, stdout, stderr } = spawnSync(
      'promtool',
      ['check', 'rules', ops('prometheus-alerts.yml')],
      {
        encoding: 'utf8',
      },
    )
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('SUCCESS: 13 rules found')
  })

  test.runIf(has('promtool'))('promtool accepts every expression of the dashboard', () => {
    const { panels } = JSON.parse(readFileSync(ops('grafana-dashboard.json'), 'utf8')) as {
      panels: { targets: { expr: string }[] }[]
    }
    const rules = panels
      .flatMap(({ targets }) => targets)
      .map(({ expr }, at) => ({ record: `dashboard:${at}`, expr: expr.replaceAll('$instance', '.*') }))
    const file = join(mkdtempSync(join(tmpdir(), 'posthaste-rules-')), 'rules.yml')
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})

describe.each(['README.md', 'docs/install.md', 'docs/operations.md'])('%s', (page) => {
  const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block]) => block!.split('\n'))
  const lines = blocks.filter(
    (line) => /\bposthaste [a-z]/.test(line) && !/systemctl|journalctl|apt|sudo -u/.test(line),
  )
  const rows = new Map(listCommands().map((row) => [row.path.join(' '), row]))

  test.each(lines)('the command in “%s” exists with these options', (line) => {
    const [, said] = /\bposthaste ([^#|<]*)/.exec(line)!
    const words = said!.trim().split(/\s+/)
    const [two, one] = [words.slice(0, 2).join(' '), words[0]!]
    const row = rows.get(two) ?? rows.get(one)
    expect(row?.children, line).toEqual([])
    const options = row!.options.map(({ long }) => long)
    expect(words.filter((word) => word.startsWith('--') && !options.includes(word))).toEqual([])
  })
})
