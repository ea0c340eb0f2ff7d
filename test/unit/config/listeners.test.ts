import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { formatConfigError, loadConfig } from '../../../appliance/config/config.ts'

const file = join(mkdtempSync(join(tmpdir(), 'posthaste-listeners-')), 'posthaste.toml')

/** Returns the errors as lines, without the file's path: `:3: …`. */
function complaintsOf(text: string): string[] {
  writeFileSync(file, text)
  const loaded = loadConfig({ file, env: {} })
  return 'complaints' in loaded
    ? loaded.complaints.map((one) => formatConfigError(one).replaceAll(file, ''))
    : []
}

test('an address used by two listeners is rejected, unless its port is 0', () => {
  const text = `hostname = "mail.example.com"
[http]
listen = ["127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:8025"]
[smtp]
starttls = ["127.0.0.1:0", "127.0.0.1:8025"]
implicit_tls = ["127.0.0.1:465", "127.0.0.1:465"]
[[smtp.trusted]]
listen = "127.0.0.1:465"
networks = ["10.0.0.0/24"]
api_key_id = "0197c3e2-5a71-7000-8000-1c2d3e4f5061"
`
  expect(complaintsOf(text)).toEqual([
    ':5: smtp.starttls and http.listen both have 127.0.0.1:8025. Use a different port for each.',
    ':6: smtp.implicit_tls lists 127.0.0.1:465 twice.',
    ':7: smtp.trusted and smtp.implicit_tls both have 127.0.0.1:465. Use a different port for each.',
  ])
  expect(
    complaintsOf(`hostname = "mail.example.com"
[http]\nlisten = ["0.0.0.0:465"]\n`),
  ).toEqual([':3: smtp.implicit_tls and http.listen both have 0.0.0.0:465. Use a different port for each.'])
})
