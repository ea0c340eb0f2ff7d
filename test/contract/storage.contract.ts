import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { alertsContract } from './alerts.contract.ts'
import { accountsContract } from './accounts.contract.ts'
import { audienceListsContract } from './audience-lists.contract.ts'
import { topicMailContract } from './topic-mail.contract.ts'
import { audienceContract } from './audience.contract.ts'
import { archivesContract } from './archives.contract.ts'
import { auditContract } from './audit.contract.ts'
import { contactBatchesContract } from './contact-batches.contract.ts'
import { contactImportsContract } from './contact-imports.contract.ts'
import { abTestsContract } from './ab-tests.contract.ts'
import { broadcastRateContract } from './broadcast-rate.contract.ts'
import { broadcastRulesContract } from './broadcast-rules.contract.ts'
import { complaintsContract } from './complaints.contract.ts'
import { broadcastHoldsContract } from './broadcast-holds.contract.ts'
import { broadcastVersionsContract } from './broadcast-versions.contract.ts'
import { broadcastOptOutsContract } from './broadcast-opt-outs.contract.ts'
import { broadcastsContract } from './broadcasts.contract.ts'
import { automationsContract } from './automations.contract.ts'
import { customEventsContract } from './custom-events.contract.ts'
import { delegationContract } from './delegation.contract.ts'
import { dutiesContract } from './duties.contract.ts'
import { domainReportsContract } from './domain-reports.contract.ts'
import { formsContract } from './forms.contract.ts'
import { eventsContract } from './events.contract.ts'
import { identitiesContract } from './identities.contract.ts'
import { emailSearchContract } from './email-search.contract.ts'
import { emailsContract } from './emails.contract.ts'
import { DAY, T0, type OpenStorage } from './fixtures.ts'
import { lanesContract } from './lanes.contract.ts'
import { membersContract } from './members.contract.ts'
import { nodesContract } from './nodes.contract.ts'
import { metricsContract } from './metrics.contract.ts'
import { metricsTagsContract } from './metrics-tags.contract.ts'
import { placeContract } from './place.contract.ts'
import { preferencesContract } from './preferences.contract.ts'
import { putContract } from './put.contract.ts'
import { insightDaysContract } from './insight-days.contract.ts'
import { imagesContract } from './images.contract.ts'
import { logsContract } from './logs.contract.ts'
import { queueContract } from './queue.contract.ts'
import { queueControlContract } from './queue-control.contract.ts'
import { retentionContract } from './retention.contract.ts'
import { scheduledContract } from './scheduled.contract.ts'
import { receivedContract } from './received.contract.ts'
import { receivedEmailsContract } from './received-emails.contract.ts'
import { reportsContract } from './reports.contract.ts'
import { segmentRulesContract } from './segment-rules.contract.ts'
import { sendersContract } from './senders.contract.ts'
import { sessionsContract } from './sessions.contract.ts'
import { sourcesContract } from './sources.contract.ts'
import { spoolContract } from './spool.contract.ts'
import { suppressionsContract } from './suppressions.contract.ts'
import { templatesContract } from './templates.contract.ts'
import { templateUsesContract } from './template-uses.contract.ts'
import { ticketsContract } from './tickets.contract.ts'
import { tlsPoliciesContract } from './tls-policies.contract.ts'
import { trackingContract } from './tracking.contract.ts'
import { webhooksContract } from './webhooks.contract.ts'

const parts: Record<string, (storage: () => Storage) => void> = {
  accounts: accountsContract,
  alerts: alertsContract,
  audience: audienceContract,
  audienceLists: audienceListsContract,
  contactBatches: contactBatchesContract,
  contactImports: contactImportsContract,
  images: imagesContract,
  delegation: delegationContract,
  insightDays: insightDaysContract,
  broadcastRules: broadcastRulesContract,
  complaints: complaintsContract,
  preferences: preferencesContract,
  segmentRules: segmentRulesContract,
  topicMail: topicMailContract,
  templates: templatesContract,
  templateUses: templateUsesContract,
  audit: auditContract,
  abTests: abTestsContract,
  archives: archivesContract,
  broadcasts: broadcastsContract,
  broadcastHolds: broadcastHoldsContract,
  broadcastVersions: broadcastVersionsContract,
  broadcastOptOuts: broadcastOptOutsContract,
  broadcastRate: broadcastRateContract,
  automations: automationsContract,
  customEvents: customEventsContract,
  duties: dutiesContract,
  nodes: nodesContract,
  forms: formsContract,
  events: eventsContract,
  sessions: sessionsContract,
  identities: identitiesContract,
  tickets: ticketsContract,
  members: membersContract,
  senders: sendersContract,
  suppressions: suppressionsContract,
  emails: emailsContract,
  emailSearch: emailSearchContract,
  put: putContract,
  scheduled: scheduledContract,
  spool: spoolContract,
  sources: sourcesContract,
  queue: queueContract,
  queueControl: queueControlContract,
  place: placeContract,
  lanes: lanesContract,
  received: receivedContract,
  receivedEmails: receivedEmailsContract,
  domainReports: domainReportsContract,
  reports: reportsContract,
  retention: retentionContract,
  logs: logsContract,
  metrics: metricsContract,
  metricsTags: metricsTagsContract,
  tlsPolicies: tlsPoliciesContract,
  tracking: trackingContract,
  webhooks: webhooksContract,
}

/**
 * Tests that every engine must pass. Each part has its own storage, which starts empty; its tests use their own teams.
 * The queue is emptied after each test.
 */
export function storageContract(engine: string, open: OpenStorage): void {
  describe.each(Object.entries(parts))(`the storage contract on ${engine}: %s`, (_name, part) => {
    let storage: Storage
    beforeAll(async () => {
      storage = await open()
    })
    // Long after the leases of all tests have expired.
    afterEach(() => storage.dropQueue({}, T0 + 1000 * DAY))
    afterAll(() => storage.close())
    part(() => storage)
  })
}
