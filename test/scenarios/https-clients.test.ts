import { once } from 'node:events'
import { connect } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { freeAddress, likelyFreePort } from '../world/addresses.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

/** Tests what the server remembers about HTTPS clients. */

let appliance: TestAppliance | undefined
afterEach(() => appliance?.close())

test('logs the address of clients that disconnect right after a request', async () => {
  const [host, port] = [freeAddress(), likelyFreePort()]
  const http = { listen: ['127.0.0.1:0'], tls_listen: [`${host}:${port}`] }
  appliance = await startAppliance({ config: { http: http as Config['http'] } })
  const request = `GET /emails HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${appliance.apiKey}\r\n\r\n`
  for (let n = 0; n < 20; n++) {
    const socket = connect({ host, port, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    socket.write(request)
    // The first bytes of the response prove that the request arrived.
    await once(socket, 'data')
    socket.destroy()
  }
  const logged = async (): Promise<unknown[]> => {
    const { body } = await appliance!.call<{ data: { id: string }[] }>('GET', '/logs?limit=100')
    const logs = body.data.map(({ id }) =>
      appliance!.call<{ ip: string; endpoint: string }>('GET', `/logs/${id}`),
    )
    return (await Promise.all(logs))
      .filter((log) => log.body.endpoint === '/emails')
      .map((log) => log.body.ip)
  }
  await expect.poll(logged).toEqual(Array(20).fill('127.0.0.1'))
})
