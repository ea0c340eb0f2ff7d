import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { expect, test } from 'vitest'
import { createSelfSignedPair } from '../../../appliance/wire/self-signed.ts'

const now = Date.UTC(2026, 10, 20, 12)

test('a self-signed certificate contains its hosts, validity and key', async () => {
  const pair = await createSelfSignedPair(['mail.example.com', 'links.example.com'], now)
  const certificate = new X509Certificate(pair.cert)
  expect(certificate.subject).toBe('CN=mail.example.com')
  expect(certificate.subjectAltName).toBe('DNS:mail.example.com, DNS:links.example.com')
  expect(certificate.validFromDate.toISOString()).toBe('2026-11-19T12:00:00.000Z')
  expect(certificate.validToDate.toISOString()).toBe('2036-11-17T12:00:00.000Z')
  expect(certificate.checkPrivateKey(createPrivateKey(pair.key))).toBe(true)
  expect(certificate.verify(certificate.publicKey)).toBe(true)
  expect(certificate.checkHost('links.example.com')).toBe('links.example.com')
})

test('a self-signed certificate can end after 2049', async () => {
  const { cert } = await createSelfSignedPair(['mail.example.com'], Date.UTC(2045, 0, 1))
  expect(new X509Certificate(cert).validToDate.getUTCFullYear()).toBe(2054)
})

test('two self-signed certificates have different serial numbers and keys', async () => {
  const [one, two] = await Promise.all([
    createSelfSignedPair(['a.test'], now),
    createSelfSignedPair(['a.test'], now),
  ])
  expect(new X509Certificate(one.cert).serialNumber).not.toBe(new X509Certificate(two.cert).serialNumber)
  expect(one.key).not.toBe(two.key)
})

test('a self-signed certificate works for TLS', async () => {
  const pair = await createSelfSignedPair(['mail.example.com'], Date.now())
  const server = createServer(pair, (socket) => socket.end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, ca: pair.cert, servername: 'mail.example.com' })
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  expect(chunk.toString()).toBe('hello')
  expect(socket.authorized).toBe(true)
  expect(socket.getProtocol()).toBe('TLSv1.3')
  socket.destroy()
  server.close()
})
