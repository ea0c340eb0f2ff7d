/**
 * Everything that is stored, by noun. A noun's `reads` run on the reading thread and its `writes` on the writing thread,
 * each in a separate transaction. `prepared` are performance-critical writes, whose statements the engine prepares once.
 * `innerReads` and `innerWrites` don't handle the files with large messages; the engine builds its own methods on them.
 * Only the storage threads load this file. The rest of the program uses the types in storage.ts.
 */
import { methods as accounts } from './accounts.ts'
import { methods as alerts } from './alerts.ts'
import { methods as apiKeys } from './api-keys.ts'
import { methods as consents } from './audience/consents.ts'
import { methods as contactBatches } from './audience/contact-batches.ts'
import { methods as contactList } from './audience/contact-list.ts'
import { methods as contactProperties } from './audience/contact-properties.ts'
import { methods as contactRows } from './audience/contact-rows.ts'
import { methods as contacts } from './audience/contacts.ts'
import { methods as audienceCounts } from './audience/counts.ts'
import { methods as forms } from './audience/forms.ts'
import { methods as formSignups } from './audience/form-signups.ts'
import { methods as importRows } from './audience/import-rows.ts'
import { methods as importUndo } from './audience/import-undo.ts'
import { methods as imports } from './audience/imports.ts'
import { methods as memberships } from './audience/memberships.ts'
import { methods as preferences } from './audience/preferences.ts'
import { methods as segmentReach } from './audience/segment-reach.ts'
import { methods as segments } from './audience/segments.ts'
import { methods as topics } from './audience/topics.ts'
import { methods as unsubscribePages } from './audience/unsubscribe-pages.ts'
import { methods as audit } from './audit.ts'
import { methods as automations } from './automations/automations.ts'
import { methods as automationRunning } from './automations/running.ts'
import { methods as openSteps } from './automations/open-steps.ts'
import { methods as automationCounts } from './automations/counts.ts'
import { methods as automationRuns } from './automations/runs.ts'
import { methods as customEvents } from './automations/custom-events.ts'
import { methods as sentEvents } from './automations/sent-events.ts'
import { methods as abTests } from './broadcasts/ab-tests.ts'
import { methods as archives } from './broadcasts/archives.ts'
import { methods as broadcasts } from './broadcasts/broadcasts.ts'
import { methods as broadcastCandidates } from './broadcasts/candidates.ts'
import { methods as broadcastExpansion } from './broadcasts/expansion.ts'
import { methods as broadcastRecipients } from './broadcasts/recipients.ts'
import { methods as broadcastRecipientRows } from './broadcasts/recipient-rows.ts'
import { methods as broadcastResults } from './broadcasts/results.ts'
import { methods as broadcastStates } from './broadcasts/states.ts'
import { methods as broadcastVersions } from './broadcasts/versions.ts'
import { methods as delegation } from './delegation.ts'
import { methods as dkimKeys } from './dkim-keys.ts'
import { methods as domains } from './domains.ts'
import { methods as domainChecks } from './domain-checks.ts'
import { methods as domainReportSums } from './domain-report-sums.ts'
import { methods as domainReports } from './domain-reports.ts'
import { methods as duties } from './duties.ts'
import { methods as nodes } from './nodes.ts'
import { methods as emailSearch } from './email-search.ts'
import { methods as emails } from './emails.ts'
import { methods as erasures } from './erasures/erasures.ts'
import { methods as events } from './events.ts'
import { methods as factors } from './factors.ts'
import { methods as identities } from './identities.ts'
import { methods as images } from './images.ts'
import { methods as insightDays } from './insight-days.ts'
import { methods as invitations } from './invitations.ts'
import { methods as lanes } from './lanes.ts'
import { methods as logs } from './logs.ts'
import { methods as broadcastMetrics } from './metrics/broadcasts.ts'
import { methods as metrics } from './metrics/metrics.ts'
import { methods as metricSums } from './metrics/sums.ts'
import { methods as metricTags } from './metrics/tags.ts'
import { methods as dropping } from './queue/drop.ts'
import { methods as holdRules } from './queue/hold-rules.ts'
import { methods as queue } from './queue/queue.ts'
import { methods as quotas } from './quotas.ts'
import { methods as postmaster } from './postmaster.ts'
import { methods as receipts } from './receipts.ts'
import { methods as received } from './received.ts'
import { methods as receivedEmails } from './received-emails.ts'
import { methods as receivedForwards } from './received-forwards.ts'
import { methods as reports } from './reports.ts'
import { methods as returnedUnread } from './returned-unread.ts'
import { methods as retention } from './retention.ts'
import { methods as secrets } from './secrets.ts'
import { methods as sessions } from './sessions.ts'
import { methods as regions } from './regions.ts'
import { methods as sources } from './sources.ts'
import { methods as enqueueing } from './spool/enqueue.ts'
import { methods as leasing } from './spool/lease.ts'
import { methods as accepting } from './spool/put.ts'
import { methods as settling } from './spool/settle.ts'
import { methods as suppressions } from './suppressions.ts'
import { methods as teams } from './teams.ts'
import { methods as templateRows } from './templates/template-rows.ts'
import { methods as templates } from './templates/templates.ts'
import { methods as templateUses } from './templates/template-uses.ts'
import { methods as tickets } from './tickets.ts'
import { methods as tlsPolicies } from './tls-policies.ts'
import { methods as webhookDeliveries } from './webhooks/deliveries.ts'
import { methods as outbox } from './webhooks/outbox.ts'
import { methods as webhookQueue } from './webhooks/queue.ts'
import { methods as webhooks } from './webhooks/webhooks.ts'

export const methodsByNoun = {
  accounts,
  alerts,
  apiKeys,
  audienceCounts,
  audit,
  automationRunning,
  openSteps,
  automationCounts,
  automationRuns,
  automations,
  abTests,
  broadcastCandidates,
  broadcastMetrics,
  broadcastExpansion,
  broadcastRecipients,
  broadcastRecipientRows,
  broadcastResults,
  archives,
  broadcasts,
  broadcastStates,
  broadcastVersions,
  consents,
  contactBatches,
  contactList,
  contactProperties,
  contactRows,
  contacts,
  customEvents,
  delegation,
  dkimKeys,
  domainChecks,
  domainReports,
  domainReportSums,
  domains,
  duties,
  emailSearch,
  emails,
  erasures,
  events,
  factors,
  forms,
  formSignups,
  identities,
  images,
  importRows,
  imports,
  importUndo,
  insightDays,
  invitations,
  lanes,
  logs,
  metrics,
  metricSums,
  metricTags,
  memberships,
  nodes,
  postmaster,
  preferences,
  dropping,
  holdRules,
  queue,
  quotas,
  receipts,
  received,
  receivedEmails,
  receivedForwards,
  reports,
  retention,
  returnedUnread,
  secrets,
  segmentReach,
  segments,
  sentEvents,
  sessions,
  regions,
  sources,
  enqueueing,
  leasing,
  accepting,
  settling,
  suppressions,
  teams,
  templateRows,
  templates,
  templateUses,
  tickets,
  tlsPolicies,
  topics,
  unsubscribePages,
  webhookDeliveries,
  outbox,
  webhookQueue,
  webhooks,
}

/** How a method runs. */
type Kind = 'reads' | 'writes' | 'prepared' | 'innerReads' | 'innerWrites'

/** A method in this list. `F` is its type in the engine: a function of a connection. */
interface ListedMethod<F> {
  noun: string
  name: string
  run: F
}

/** Returns the methods of one kind, of all nouns. */
export const listMethods = <F>(kind: Kind): ListedMethod<F>[] =>
  Object.entries<Partial<Record<Kind, object>>>(methodsByNoun).flatMap(([noun, methods]) =>
    Object.entries(methods[kind] ?? {}).map(([name, run]) => ({ noun, name, run: run as F })),
  )

/** Returns the serializable part of a method, for another thread. */
export const toMethodRef = ({ noun, name }: ListedMethod<unknown>) => ({ noun, name })
