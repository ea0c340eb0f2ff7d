import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { installation, posthaste } from './program.ts'

let config: string
let quiet: string
const run = (args: string[], input = '') => posthaste([...args, '--config', config], { input })
const says = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await run(args)
  return `${code} ${stdout}${stderr}`
}

beforeAll(async () => {
  // Nothing listens at this resolver and no other is used, so no traffic leaves this machine.
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-doctor-'))
  const targets = join(folder, 'doctor.toml')
  writeFileSync(
    targets,
    'port25 = []\nclock = []\n[resolver]\ncached = "a.test"\nsigned = "b.test"\nbroken = "c.test"\n',
  )
  quiet = `[doctor]\ntargets = "${targets}"\n`
  const made = installation(
    quiet +
      '[dns]\nservers = ["127.0.0.1:9"]\n[http]\nlisten = ["127.0.0.1:9"]\n[smtp]\nstarttls = []\nimplicit_tls = []\n',
  )
  config = made.config
  await run(['setup', '--email', 'owner@sender.test'], 'a long password\n')
})

describe('source', () => {
  test('source add, pool, suspend, resume, warm-up, assign and remove manage sending IPs', async () => {
    expect(await says('source', 'list')).toBe(
      '0 POOL     ADDRESS  STATE   EHLO NAME  WARM-UP  CHECKED\ndefault  auto     active  -          warm     -\n',
    )
    expect(
      await says('source', 'add', '192.0.2.7', '--pool', 'news', '--hostname', 'mx7.sender.test'),
    ).toContain('0 Added 192.0.2.7 to the pool news. The daemon starts using it within a minute.')
    expect(await says('source', 'hostname', '192.0.2.7', '-')).toBe(
      "0 The EHLO name of 192.0.2.7 is now the server's hostname.\n",
    )
    expect(await says('source', 'suspend', '192.0.2.7')).toBe(
      '0 Suspended 192.0.2.7. To resume, run: posthaste source resume 192.0.2.7\n',
    )
    expect(await says('source', 'list')).toContain('192.0.2.7: Suspended: An operator suspended it.')
    expect(await says('source', 'resume', '192.0.2.7')).toBe(
      '0 Resumed 192.0.2.7. The next check may suspend it again.\n',
    )
    expect(await says('source', 'warm-up', '192.0.2.7')).toContain('0 192.0.2.7 has been warming up since 20')
    expect(await says('source', 'warm-up', '192.0.2.7', '--end')).toBe(
      '0 192.0.2.7 is not being warmed up and has no daily limit.\n',
    )
    expect(await says('source', 'assign', 'news', '--stream', 'broadcast')).toContain(
      '0 Assigned the mail to the pool news (',
    )
    expect(await says('source', 'pool', '192.0.2.7', 'default')).toBe(
      '0 192.0.2.7 is now in the pool default.\n',
    )
    const { stdout } = await run(['source', 'list', '--json'])
    const listed = JSON.parse(stdout) as { data: { ip: string }[] }
    expect(listed.data.map(({ ip }) => ip)).toEqual(['192.0.2.7'])
    const assigned = await run(['source', 'assignments', '--json'])
    const { data } = JSON.parse(assigned.stdout) as { data: { id: string; pool: string }[] }
    expect(data).toMatchObject([{ pool: 'news' }])
    expect(await says('source', 'unassign', data[0]!.id)).toBe('0 Removed the assignment.\n')
    expect(await says('source', 'remove', '192.0.2.7')).toBe(
      '0 Removed 192.0.2.7. No more mail is sent from it.\n',
    )
  })

  test('source region puts a pool in a region, and source pools shows it', async () => {
    expect(await says('source', 'region', 'default', 'EU-West-1')).toBe(
      '0 The pool default is in eu-west-1. New mail of domains in this region is sent\nfrom it.\n',
    )
    const { stdout } = await run(['source', 'pools', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ data: [{ name: 'default', region: 'eu-west-1' }] })
    expect(await says('source', 'region', 'default', '-')).toBe('0 The pool default is in no region.\n')
    expect(await says('source', 'region', 'nowhere', 'eu-west-1')).toMatch(/^1 Pool nowhere not found/)
  })

  test('source rejects invalid arguments with a message of one line', async () => {
    expect(await says('source', 'add', 'mail')).toBe(
      '1 Invalid `ip` field: an IP address of this machine, such as 192.0.2.1.\n',
    )
    expect(await says('source', 'suspend', '192.0.2.99')).toBe(
      '1 Source 192.0.2.99 not found. See: posthaste source list\n',
    )
    expect(await says('source', 'assign', 'nowhere')).toBe(
      '1 Invalid `pool` field: a pool that has a sending IP: default.\n',
    )
    expect(await says('source', 'assign', 'default', '--domain', 'none.test')).toBe(
      '1 Domain none.test not found. See: posthaste domain list\n',
    )
  })
})

describe('doctor', () => {
  test('doctor reports problems and exits with code 1', async () => {
    const { code, stdout, stderr } = await run(['doctor'])
    expect([code, stderr]).toEqual([1, ''])
    expect(stdout).toMatch(/^FAILED {3}/)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'DNS server 127.0.0.1:9 refused the connection: nothing is listening',
    )
    expect(stdout).toMatch(/\n\d+ failed, \d+ warnings?, \d+ skipped, \d+ ok\n$/)
  })

  test('doctor --json prints the same as the API, and an unknown domain is rejected', async () => {
    const { code, stdout } = await run(['doctor', '--json'])
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { object: 'doctor', status: 'failed' }])
    expect(await says('doctor', '--domain', 'none.test')).toBe(
      '1 Domain none.test not found. See: posthaste domain list\n',
    )
  })

  test('doctor creates no files before the first start', async () => {
    const fresh = installation(`${quiet}[dns]\nservers = ["127.0.0.1:9"]\n`)
    const { stdout } = await posthaste(['doctor', '--config', fresh.config])
    expect(stdout).toContain('Nothing is stored yet')
    expect(existsSync(fresh.dataDir)).toBe(false)
    mkdirSync(fresh.dataDir)
    const again = await posthaste(['doctor', '--config', fresh.config])
    expect(again.stdout).toContain('Nothing is stored yet')
    expect(readdirSync(fresh.dataDir)).toEqual([])
  })
})
