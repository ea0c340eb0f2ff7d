import { expect, test } from 'vitest'
import {
  describePostgresUrl,
  splitPostgresUrl,
  withoutPassword,
} from '../../../appliance/config/postgres-url.ts'

const split = (text: string) => splitPostgresUrl(text)?.map(({ href }) => href)

test('a URL with several servers becomes one URL for each, with their ports', () => {
  expect(split('postgres://u:p%40@db1,db2:5433,[::1]:5434/mail')).toEqual([
    'postgres://u:p%40@db1/mail',
    'postgres://u:p%40@db2:5433/mail',
    'postgres://u:p%40@[::1]:5434/mail',
  ])
  expect(split('postgresql://db/mail')).toEqual(['postgresql://db/mail'])
})

test('several socket directories become one URL for each', () => {
  const urls = splitPostgresUrl('postgres://u@localhost/mail?host=/run/a,/run/b')!
  expect(urls.map(({ searchParams }) => searchParams.get('host'))).toEqual(['/run/a', '/run/b'])
})

test.each([
  'mysql://u@db/mail',
  'postgres://u@db',
  'postgres://u@db/a/b',
  'postgres://u@db1,/mail',
  'postgres://u@db1,,db2/mail',
  'postgres://u@db1,db 2/mail',
  'postgres://u@db1:70000,db2/mail',
  'postgres://u@db1,db2/mail?target_session_attrs=read-write',
  'postgres://u@localhost/mail?host=/run/a,b',
  'postgres://u@localhost/mail?host=/run/a,',
  `postgres://u@${Array.from({ length: 9 }, (_, n) => `db${n}`).join(',')}/mail`,
])('%s is refused', (text) => {
  expect(splitPostgresUrl(text)).toBeUndefined()
})

test('descriptions name the servers and the database, never the password', () => {
  const text = 'postgres://u:geheim@db1,db2:5433/mail'
  expect(describePostgresUrl(text)).toBe('db1,db2:5433/mail')
  expect(describePostgresUrl('postgres://u:geheim@localhost/mail?host=/run/a,/run/b')).toBe(
    '/run/a,/run/b/mail',
  )
  expect(withoutPassword(text)).toBe('postgres://u@db1,db2:5433/mail')
  expect(withoutPassword('postgres://db/mail')).toBe('postgres://db/mail')
})
