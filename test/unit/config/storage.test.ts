import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPostgresTarget } from '../../../appliance/assembly/postgres.ts'
import { formatConfigError, loadConfig, type LoadResult } from '../../../appliance/config/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-storage-'))

const load = (storage: Record<string, string>): LoadResult => {
  const variables = Object.entries(storage).map(([key, value]) => [
    `POSTHASTE_STORAGE__${key.toUpperCase()}`,
    value,
  ])
  const env = {
    POSTHASTE_HOSTNAME: 'mail.example.com',
    ...Object.fromEntries(variables),
  } as NodeJS.ProcessEnv
  return loadConfig({ env, defaultFile: '/nonexistent' })
}

function complaintsOf(storage: Record<string, string>): string[] {
  const loaded = load(storage)
  return 'complaints' in loaded ? loaded.complaints.map(formatConfigError) : []
}

function targetOf(storage: Record<string, string>) {
  const loaded = load({ engine: 'postgres', ...storage })
  if ('complaints' in loaded) throw new Error(loaded.complaints.map(formatConfigError).join('\n'))
  return loadPostgresTarget(loaded.config)
}

test('PostgreSQL settings that are missing, conflicting or without effect are reported', () => {
  expect(complaintsOf({ engine: 'postgres' })).toEqual([
    'POSTHASTE_STORAGE__ENGINE: storage.engine "postgres" requires storage.url.',
  ])
  expect(complaintsOf({ tls: 'off' })).toEqual([
    'POSTHASTE_STORAGE__TLS: storage.tls has no effect unless storage.engine is "postgres".',
  ])
  const both = { url: 'postgres://u:p@db/n', password_file: '/p', tls: 'off', tls_ca: '/ca.pem' }
  expect(complaintsOf({ engine: 'postgres', ...both })).toEqual([
    'POSTHASTE_STORAGE__PASSWORD_FILE: storage.url contains a password, too. Set only one of the two.',
    'POSTHASTE_STORAGE__TLS_CA: storage.tls_ca has no effect unless storage.tls is "verify".',
  ])
})

test.each(['mysql://u:geheim@db/name', 'postgres://u:geheim@db', 'postgres://u:geheim@db/n?sslmode=disable'])(
  'an invalid PostgreSQL URL is rejected without showing its password: %s',
  (url) => {
    expect(complaintsOf({ engine: 'postgres', url })).toEqual([
      'POSTHASTE_STORAGE__URL: storage.url is a value (hidden); expected a URL such as postgres://posthaste@db.example.com/posthaste, with "host" as the only possible parameter.',
    ])
  },
)

test('a PostgreSQL connection to another machine uses verified TLS unless configured otherwise', () => {
  const url = 'postgres://u@db.example.com/n'
  expect(targetOf({ url })).toEqual({ url, tls: { verify: true, ca: undefined } })
  expect(targetOf({ url, tls: 'require' })).toEqual({ url, tls: { verify: false, ca: undefined } })
  expect(targetOf({ url, tls: 'off' })).toEqual({ url })
  for (const local of [
    'postgres://u@127.0.0.1/n',
    'postgres://u@[::1]/n',
    'postgres://u@localhost/n?host=/run',
  ])
    expect(targetOf({ url: local })).toEqual({ url: local })
})

test('a PostgreSQL URL may name several servers, which all get the password and verified TLS', () => {
  const file = join(folder, 'several')
  writeFileSync(file, 'secret')
  expect(targetOf({ url: 'postgres://u@db1,db2:5433/n', password_file: file })).toEqual({
    url: 'postgres://u:secret@db1/n',
    others: ['postgres://u:secret@db2:5433/n'],
    tls: { verify: true, ca: undefined },
  })
  // One of them is on another machine.
  expect(targetOf({ url: 'postgres://u@localhost,db2/n' })?.tls).toEqual({ verify: true, ca: undefined })
  expect(targetOf({ url: 'postgres://u@localhost,127.0.0.1:5433/n' })?.tls).toBeUndefined()
  const both = complaintsOf({ engine: 'postgres', url: 'postgres://u:p@db1,db2/n', password_file: file })
  expect(both).toEqual([
    'POSTHASTE_STORAGE__PASSWORD_FILE: storage.url contains a password, too. Set only one of the two.',
  ])
})

test('storage.password_file provides its first line as password', () => {
  const file = join(folder, 'password')
  writeFileSync(file, 'p@ss%/word\nmore\n')
  expect(targetOf({ url: 'postgres://u@localhost/n', password_file: file })).toEqual({
    url: 'postgres://u:p%40ss%25%2Fword@localhost/n',
  })
  expect(() => targetOf({ url: 'postgres://u@localhost/n', password_file: join(folder, 'none') })).toThrow(
    /^storage\.password_file cannot be read: ENOENT/,
  )
})
