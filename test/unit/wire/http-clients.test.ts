import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../../appliance')

/**
 * Sources that send HTTP requests. The two clients in wire/ guard against private addresses, redirects, large responses
 * and slow servers. Requests to addresses that outsiders choose go through them. The other files say why they don't
 * need to.
 */
const HTTP_CLIENTS: Record<string, string> = {
  'wire/fetch.ts': 'the guarded client: attachments, MTA-STS policies, TLS reports',
  'storage/bucket/requests.ts': 'asks the S3 server that the operator configured, with its own limits',
  'wire/post.ts': 'the guarded client that keeps connections open: webhooks',
  'accounts/github.ts': 'asks a provider that the operator configured, through openid-client',
  'certificates/exchange.ts':
    'asks the ACME server that the operator configured; HTTPS only, with its own limits',
  'commands/healthcheck.ts': 'asks the daemon on this machine',
  'crashtest/api-client.ts': 'asks the test daemon that it started',
  'crashtest/node-killer.ts': 'asks the test nodes that it started whether they are ready',
  'inbound/spam-filter.ts': 'asks the rspamd that the operator configured, with a deadline and a size limit',
  'insights/spam-filter.ts': 'pings the same rspamd',
  'insights/time.ts': 'asks known servers for the time, and reads no body',
  'moving/hosted.ts': 'asks the service that the operator imports from, in a command',
}

/** Reports whether a source sends requests with Node's own clients. `GuardedFetch` is the type of the guarded one. */
function sendsRequests(source: string): boolean {
  const imports = /import \{[^}]*\brequest\b[^}]*\} from 'node:https?'/.test(source)
  return imports || (/\bawait fetch\(/.test(source) && !source.includes('GuardedFetch'))
}

test('only the listed files send HTTP requests', () => {
  const senders = globSync('**/*.ts', { cwd: root }).filter((file) =>
    sendsRequests(readFileSync(join(root, file), 'utf8')),
  )
  expect(senders.sort()).toEqual(Object.keys(HTTP_CLIENTS).sort())
})
