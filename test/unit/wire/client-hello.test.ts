import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { connect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { parseOfferedProtocols } from '../../../appliance/wire/client-hello.ts'

/** Returns the first bytes that a real client sends. */
async function helloOf(protocols: string[]): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', servername: 'a.test', ALPNProtocols: protocols })
  client.on('error', () => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  server.close()
  return bytes
}

describe('the ALPN protocols of a client hello', () => {
  test('reads the ALPN protocols from the first TLS message', async () => {
    const hello = await helloOf(['acme-tls/1', 'http/1.1'])
    expect(parseOfferedProtocols(hello)).toEqual(['acme-tls/1', 'http/1.1'])
    expect(parseOfferedProtocols(Buffer.concat([hello, Buffer.from('more')]))).toEqual([
      'acme-tls/1',
      'http/1.1',
    ])
  })
  test('the ALPN protocols are unknown until the message is complete', async () => {
    const hello = await helloOf(['acme-tls/1'])
    for (const length of [0, 1, 4, 5, 40, hello.length - 1])
      expect(parseOfferedProtocols(hello.subarray(0, length))).toBe(undefined)
  })
  test('the ALPN protocols are empty if none are offered or the client does not use TLS', async () => {
    expect(parseOfferedProtocols(await helloOf([]))).toEqual([])
    expect(parseOfferedProtocols(Buffer.from('GET / HTTP/1.1\r\n'))).toEqual([])
  })
  test('returns a list of ALPN protocols even if any byte of the message is corrupted', async () => {
    const hello = await helloOf(['acme-tls/1'])
    for (let at = 5; at < hello.length; at++) {
      const broken = Buffer.from(hello)
      broken[at] = 0xff
      expect(Array.isArray(parseOfferedProtocols(broken))).toBe(true)
    }
  })
})
