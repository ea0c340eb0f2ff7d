import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Clock } from '../../../appliance/clock/clock.ts'
import { openCertificates, type Certificates } from '../../../appliance/wire/certificates.ts'
import { createSelfSignedPair } from '../../../appliance/wire/self-signed.ts'

const NOW = Date.UTC(2026, 10, 20)
const clock: Clock = { now: () => NOW, after: () => () => undefined }

let opened: Certificates | undefined
afterEach(() => opened?.close())

async function fileOf(folder: string, name: string, at: number) {
  const pair = await createSelfSignedPair([name], at)
  const files = { cert: join(folder, `${name}.cert`), key: join(folder, `${name}.key`) }
  await writeFile(files.cert, pair.cert)
  await writeFile(files.key, pair.key)
  return files
}

test('a name counts as covered by a configured or issued certificate, but not by a self-signed one', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-covers-'))
  const additional = [await fileOf(dataDir, 'links.shop.test', NOW)]
  opened = await openCertificates({ dataDir, hostname: 'mail.test', clock, additional })
  expect(opened.covers('links.shop.test')).toBe(true)
  expect(opened.covers('mail.test')).toBe(false)
  expect(opened.covers('links.other.test')).toBe(false)
  opened.use([await createSelfSignedPair(['links.other.test'], NOW)])
  expect(opened.covers('links.other.test')).toBe(true)
  opened.use([])
  expect(opened.covers('links.other.test')).toBe(false)
})

test('an expired certificate does not cover its name', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-covers-'))
  const files = await fileOf(dataDir, 'mail.test', 0)
  opened = await openCertificates({ dataDir, hostname: 'mail.test', clock, files })
  expect(opened.covers('mail.test')).toBe(false)
})
