/**
 * The endpoints of `webhooks.ts`, as a separate process. All respond immediately, except for the last one, which never
 * does.
 */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

const count = Number(process.argv[2])
const waits: number[] = []
let taken = 0

const ports: number[] = []
for (let n = 0; n < count; n++) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (n === count - 1) return
      const { created_at: happened } = JSON.parse(Buffer.concat(chunks).toString()) as { created_at: string }
      taken += 1
      waits.push(Date.now() - Date.parse(happened))
      response.end('ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ports.push((server.address() as AddressInfo).port)
}
process.send!({ ports })
process.on('message', () => {
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  process.send!({ taken, p50: at(0.5), p99: at(0.99), most: sorted.at(-1) ?? 0 })
})
