import { storeCertificateRequest, readAcmeState } from '../certificates/certificates.ts'
import { loadCertificateViews } from '../insights/insights.ts'
import type { CertificateView } from '../mail/node.ts'
import { presentCertificate } from '../api/certificates.ts'
import { presentList } from '../api/shared.ts'
import { Failure, type Context } from './context.ts'
import { readDaemonRun } from './daemon-file.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'

/** How long to wait for the daemon: a CA takes seconds per name, or minutes when it is busy (milliseconds). */
const LONGEST = 10 * 60_000
const PAUSE = 250

/** `certificate list`: prints the certificates in use, and failed attempts to get one. */
async function listCertificates({ config, output }: Context): Promise<void> {
  const views = await loadCertificateViews(config)
  output.object(presentList(views.map(presentCertificate)))
  output.text(...describe(views))
}

/** `certificate issue`: requests missing and failed certificates without waiting for the next attempt. */
const issueCertificates = (context: Context): Promise<void> => askDaemon(context, false)

/** `certificate renew`: requests all ACME certificates again. */
const renewCertificates = (context: Context): Promise<void> => askDaemon(context, true)

/** Lets the daemon request certificates, because only it can answer on the ports that the CA validates. */
async function askDaemon(context: Context, all: boolean): Promise<void> {
  const { config, output } = context
  const { data_dir: dataDir, acme } = config
  if (!acme.agree_terms)
    throw new Failure(
      'Automatic certificates are off. Set agree_terms = true in [acme] (docs/certificates.md).',
    )
  if (readDaemonRun(dataDir)?.alive !== true)
    throw new Failure(
      'The daemon is not running, and it must answer the challenges of the certificate authority. Start it, then try again.',
    )
  const before = (await readAcmeState(dataDir)).wishDoneAt
  await storeCertificateRequest(dataDir, { all })
  await answered(context, before)
  const views = await loadCertificateViews(config)
  output.object(presentList(views.map(presentCertificate)))
  output.text(...describe(views))
  const failed = views.filter(({ source, failures }) => source === 'authority' && failures > 0)
  if (failed.length > 0)
    throw new Failure(
      `Could not get a certificate for ${failed.map(({ name }) => name).join(', ')}. See the reasons above.`,
    )
}

async function answered({ config, clock }: Context, before: number): Promise<void> {
  const end = clock.now() + LONGEST
  while ((await readAcmeState(config.data_dir)).wishDoneAt <= before) {
    if (clock.now() > end)
      throw new Failure(
        'The daemon did not finish within ten minutes. To see the progress, check its log or run: posthaste certificate list',
      )
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}

function describe(views: readonly CertificateView[]): string[] {
  const rows = views.map((one) => [
    one.name,
    one.source.replace('_', '-'),
    one.issuer ?? '-',
    one.validUntil === null ? 'none' : formatInstant(one.validUntil),
    one.renewAt === null ? '-' : formatInstant(one.renewAt),
  ])
  const troubles = views.flatMap(({ name, error, retryAt }) =>
    error === null
      ? []
      : [
          '',
          ...wrapParagraph(
            `${name}: ${error}${retryAt === null ? '' : ` Next attempt at ${formatInstant(retryAt)}.`}`,
          ),
        ],
  )
  return [...formatTable(['NAME', 'FROM', 'ISSUER', 'EXPIRES', 'RENEWS'], rows), ...troubles]
}

/** Registers `certificate`, about the certificates of HTTPS and SMTP. */
export function registerCertificateCommands({ group, add, does }: Registrar): void {
  const certificate = group('certificate', 'Manage TLS certificates of the listeners')
  add(
    'list',
    'List certificates with their expiry dates and errors from the certificate authority',
    certificate,
  ).action(does(listCertificates))
  add('issue', 'Request missing or failed certificates now', certificate).action(does(issueCertificates))
  add('renew', 'Renew all certificates now', certificate).action(does(renewCertificates))
}
