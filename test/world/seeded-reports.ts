/** Stores DMARC and TLS reports in an appliance as if other servers had sent them. */
import type { PublishedPolicy } from '../../appliance/mail/dmarc-report.ts'
import type { DmarcRow, TlsRow } from '../../appliance/mail/domain-report.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { TestAppliance } from './appliance.ts'

const DAY = 86_400_000
const LIMITS = { submitter: 50, reports: 500, rows: 20_000 }

/** Three sources: the domain's own service, a service that isn't set up correctly, and forged mail. */
const sourcesOf = (name: string): DmarcRow[] => {
  const passing: DmarcRow = {
    sourceIp: '198.51.100.7',
    headerFrom: name,
    disposition: 'none',
    dkimAligned: true,
    spfAligned: true,
    dkimDomain: name,
    dkimResult: 'pass',
    spfDomain: `send.${name}`,
    spfResult: 'pass',
    reason: '',
    messages: 1240,
  }
  const failing = { ...passing, dkimAligned: false, spfAligned: false, spfResult: 'fail' } as const
  return [
    passing,
    { ...failing, sourceIp: '203.0.113.40', dkimDomain: 'crm.example', messages: 86 },
    {
      ...failing,
      sourceIp: '2001:db8::bad',
      dkimDomain: '',
      dkimResult: 'none',
      messages: 14,
      disposition: 'quarantine',
    },
  ]
}

/** Stores one report of each kind about yesterday. Returns the ID of the DMARC report. */
export async function seedReports(
  { appliance }: TestAppliance,
  domain: { id: string; name: string },
  now: number,
): Promise<string> {
  const { storage } = appliance
  const team = await storage.firstTeam({}, now)
  const about = {
    teamId: team!.id,
    domainId: domain.id,
    receivedAt: now,
    begin: now - DAY,
    end: now,
    skipped: 0,
    submitter: 'reports.mailbox.example',
    organization: 'Mailbox',
    reportId: '1',
    policyDomain: domain.name,
  }
  const policy: PublishedPolicy = {
    domain: domain.name,
    p: 'quarantine',
    sp: '',
    np: '',
    adkim: 's',
    aspf: '',
    pct: '',
    fo: '',
    testing: '',
    discoveryMethod: '',
  }
  const id = newId(now)
  const dmarc = sourcesOf(domain.name)
  const tls: TlsRow[] = [
    { policyType: 'sts', failure: '', receivingMx: '', reason: '', sessions: 310 },
    {
      policyType: 'sts',
      failure: 'certificate-expired',
      receivingMx: `mx.${domain.name}`,
      reason: '',
      sessions: 4,
    },
  ]
  for (const report of [
    { ...about, id, kind: 'dmarc' as const, policy, total: 1340, failed: 100, dmarc, tls: [] },
    { ...about, id: newId(now), kind: 'tls' as const, policy: null, total: 314, failed: 4, dmarc: [], tls },
  ])
    await storage.keepDomainReport({ report, limits: LIMITS }, now)
  return id
}
