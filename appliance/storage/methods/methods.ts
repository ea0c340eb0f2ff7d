/**
 * The methods of the port that are written once for both engines. An engine adds the hot ones (put, lease, settle, saveLogs) and
 * `getMessage`, and runs each as a transaction.
 */
import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Storage } from '../storage.ts'
import * as accounts from './accounts.ts'
import * as audit from './audit.ts'
import * as drop from './drop.ts'
import * as emails from './emails.ts'
import * as erasures from './erasures.ts'
import * as factorCounts from './factor-counts.ts'
import * as factors from './factors.ts'
import * as holdRules from './hold-rules.ts'
import * as identities from './identities.ts'
import * as invitations from './invitations.ts'
import * as lanes from './lanes.ts'
import * as logs from './logs.ts'
import * as members from './members.ts'
import * as outbox from './outbox.ts'
import * as metrics from './metrics.ts'
import * as metricsSums from './metrics-sums.ts'
import * as metricsTags from './metrics-tags.ts'
import * as passkeys from './passkeys.ts'
import * as place from './place.ts'
import * as queue from './queue.ts'
import * as quotas from './quotas.ts'
import * as receipts from './receipts.ts'
import * as received from './received.ts'
import * as reports from './reports.ts'
import * as retention from './retention.ts'
import * as scheduled from './scheduled.ts'
import * as searchEmails from './search-emails.ts'
import { searchLogs } from './search-logs.ts'
import * as secrets from './secrets.ts'
import * as senders from './senders.ts'
import * as sessions from './sessions.ts'
import * as sources from './sources.ts'
import * as suppressions from './suppressions.ts'
import * as teams from './teams.ts'
import * as tickets from './tickets.ts'
import * as tlsPolicies from './tls-policies.ts'
import * as tracking from './tracking.ts'
import * as webhooks from './webhooks.ts'

/** The port's methods as functions of a connection: the transaction around them is the engine's. */
type Methods = {
  [M in Exclude<keyof Storage, 'close'>]: (
    db: Kysely<Tables>,
    args: Parameters<Storage[M]>[0],
    now: number,
  ) => ReturnType<Storage[M]>
}

/** Methods that change nothing: an engine may run them on a connection that cannot write. */
export const reads = {
  findUser: accounts.findUser,
  listUsers: accounts.listUsers,
  getUser: accounts.getUser,
  teamToEnter: accounts.teamToEnter,
  firstTeam: accounts.firstTeam,
  listTeams: teams.listTeams,
  getTeam: teams.getTeam,
  membershipsOf: teams.membershipsOf,
  listMembers: members.listMembers,
  getMember: members.getMember,
  listInvitations: invitations.listInvitations,
  openInvitations: invitations.openInvitations,
  findInvitation: invitations.findInvitation,
  findSession: accounts.findSession,
  listSessions: sessions.listSessions,
  findTotp: factors.findTotp,
  listPasskeys: passkeys.listPasskeys,
  findPasskey: passkeys.findPasskey,
  countFactors: factorCounts.countFactors,
  hasSecondFactor: factorCounts.hasSecondFactor,
  peekTicket: tickets.peekTicket,
  findIdentity: identities.findIdentity,
  listIdentities: identities.listIdentities,
  findApiKey: senders.findApiKey,
  getApiKey: senders.getApiKey,
  listApiKeys: senders.listApiKeys,
  listDomains: senders.listDomains,
  trackingDomains: senders.trackingDomains,
  isDomainHeld: senders.isDomainHeld,
  getDomain: senders.getDomain,
  findDomain: senders.findDomain,
  dkimKeys: senders.dkimKeys,
  signingKeys: senders.signingKeys,
  dueDomains: senders.dueDomains,
  nextDomainCheck: senders.nextDomainCheck,
  findSuppressed: suppressions.findSuppressed,
  getSuppression: suppressions.getSuppression,
  listSuppressions: suppressions.listSuppressions,
  listEmails: emails.listEmails,
  searchEmails: searchEmails.searchEmails,
  webhooksOfEmail: searchEmails.webhooksOfEmail,
  getEmail: emails.getEmail,
  teamOfEmail: emails.teamOfEmail,
  getHistory: emails.getHistory,
  findReceipt: receipts.findReceipt,
  planOf: quotas.planOf,
  usage: quotas.usage,
  usageHistory: quotas.usageHistory,
  listLogs: logs.listLogs,
  searchLogs,
  getLog: logs.getLog,
  sumMetrics: metrics.sumMetrics,
  breakDownMetrics: metrics.breakDownMetrics,
  sumEmailMetrics: metrics.sumEmailMetrics,
  metricsSpans: metrics.metricsSpans,
  metricsSummed: metricsSums.metricsSummed,
  metricsToSum: metricsSums.metricsToSum,
  readTagCounts: metricsTags.readTagCounts,
  liveEvents: metrics.liveEvents,
  lastEvent: metrics.lastEvent,
  findReturnPath: received.findReturnPath,
  domainsServedAs: received.domainsServedAs,
  listReturned: received.listReturned,
  getReturned: received.getReturned,
  listPostmaster: received.listPostmaster,
  getPostmaster: received.getPostmaster,
  duePostmaster: received.duePostmaster,
  dueReports: reports.dueReports,
  findStsPolicy: tlsPolicies.findStsPolicy,
  dueStsPolicies: tlsPolicies.dueStsPolicies,
  listTlsResults: tlsPolicies.listTlsResults,
  tlsResultsOf: tlsPolicies.tlsResultsOf,
  dueTlsReports: tlsPolicies.dueTlsReports,
  listTlsReports: tlsPolicies.listTlsReports,
  nextDue: queue.nextDue,
  surveyQueue: queue.surveyQueue,
  listQueue: queue.listQueue,
  listLanes: lanes.listLanes,
  listProviderSettings: lanes.listProviderSettings,
  listLaneDays: lanes.listLaneDays,
  listSources: sources.listSources,
  listAssignments: sources.listAssignments,
  trackedEmail: tracking.trackedEmail,
  listWebhooks: webhooks.listWebhooks,
  getWebhook: webhooks.getWebhook,
  readOutbox: outbox.readOutbox,
  listTeamEvents: outbox.listTeamEvents,
  listWebhookDeliveries: webhooks.listWebhookDeliveries,
  getWebhookDelivery: webhooks.getWebhookDelivery,
  listWebhookAttempts: webhooks.listWebhookAttempts,
  countWebhookRequests: webhooks.countWebhookRequests,
  listHoldRules: holdRules.listHoldRules,
  getAudit: audit.getAudit,
  listAudit: audit.listAudit,
  listDiskDays: retention.listDiskDays,
  domainsWithoutBodies: retention.domainsWithoutBodies,
  surveyErasure: erasures.surveyErasure,
  getErasure: erasures.getErasure,
  listErasures: erasures.listErasures,
  unfinishedErasures: erasures.unfinishedErasures,
} satisfies Partial<Methods>

/** Reads of which an engine makes its own methods. */
export const parts = {
  messageBody: emails.messageBody,
  messagesInFiles: emails.messagesInFiles,
}

/** Writes of which an engine makes its own methods: it removes the files of messages after the commit. */
export const partsThatWrite = {
  purgeBodies: retention.purgeBodies,
  purgeUnkeptBodies: retention.purgeUnkeptBodies,
  purgeEmails: retention.purgeEmails,
  eraseStep: erasures.eraseStep,
}

/** Methods that write. */
export const writes = {
  createOwner: accounts.createOwner,
  createTeam: teams.createTeam,
  renameTeam: teams.renameTeam,
  setMfaRequired: teams.setMfaRequired,
  switchTeam: teams.switchTeam,
  setRole: members.setRole,
  removeMember: members.removeMember,
  invite: invitations.invite,
  revokeInvitation: invitations.revokeInvitation,
  acceptInvitation: invitations.acceptInvitation,
  purgeInvitations: invitations.purgeInvitations,
  setPassword: accounts.setPassword,
  createSession: accounts.createSession,
  touchSession: accounts.touchSession,
  proveSession: accounts.proveSession,
  deleteSession: accounts.deleteSession,
  endSession: sessions.endSession,
  endSessions: sessions.endSessions,
  renewSession: sessions.renewSession,
  purgeSessions: accounts.purgeSessions,
  startTotp: factors.startTotp,
  confirmTotp: factors.confirmTotp,
  useTotp: factors.useTotp,
  removeTotp: factors.removeTotp,
  replaceRecoveryCodes: factors.replaceRecoveryCodes,
  useRecoveryCode: factors.useRecoveryCode,
  addPasskey: passkeys.addPasskey,
  usePasskey: passkeys.usePasskey,
  renamePasskey: passkeys.renamePasskey,
  removePasskey: passkeys.removePasskey,
  resetFactors: factors.resetFactors,
  createTicket: tickets.createTicket,
  takeTicket: tickets.takeTicket,
  tryTicket: tickets.tryTicket,
  dropTickets: tickets.dropTickets,
  purgeTickets: tickets.purgeTickets,
  linkIdentity: identities.linkIdentity,
  useIdentity: identities.useIdentity,
  unlinkIdentity: identities.unlinkIdentity,
  admitNewcomer: identities.admitNewcomer,
  createApiKey: senders.createApiKey,
  deleteApiKey: senders.deleteApiKey,
  touchApiKeys: senders.touchApiKeys,
  renameApiKey: senders.renameApiKey,
  createDomain: senders.createDomain,
  updateDomain: senders.updateDomain,
  deleteDomain: senders.deleteDomain,
  saveDomainCheck: senders.saveDomainCheck,
  scheduleDomainCheck: senders.scheduleDomainCheck,
  addDkimKeys: senders.addDkimKeys,
  addSuppressions: suppressions.addSuppressions,
  removeSuppressions: suppressions.removeSuppressions,
  purgeReceipts: receipts.purgeReceipts,
  setPlan: quotas.setPlan,
  reschedule: scheduled.reschedule,
  cancel: scheduled.cancel,
  secret: secrets.secret,
  purgeLogs: logs.purgeLogs,
  purgeAttempts: retention.purgeAttempts,
  purgeEvents: retention.purgeEvents,
  saveDiskDay: retention.saveDiskDay,
  setKeepBodies: retention.setKeepBodies,
  beginErasure: erasures.beginErasure,
  recomputeMetrics: metrics.recomputeMetrics,
  sumMetricsUp: metricsSums.sumMetricsUp,
  addTagCounts: metricsTags.addTagCounts,
  keepReturned: received.keepReturned,
  keepPostmaster: received.keepPostmaster,
  settlePostmaster: received.settlePostmaster,
  purgeReceived: received.purgeReceived,
  dropReports: reports.dropReports,
  saveStsPolicy: tlsPolicies.saveStsPolicy,
  useStsPolicy: tlsPolicies.useStsPolicy,
  addTlsResults: tlsPolicies.addTlsResults,
  saveTlsReport: tlsPolicies.saveTlsReport,
  purgeTlsResults: tlsPolicies.purgeTlsResults,
  unlease: queue.unlease,
  voidLeases: queue.voidLeases,
  holdQueue: queue.holdQueue,
  releaseQueue: queue.releaseQueue,
  retryQueue: queue.retryQueue,
  rerouteQueue: queue.rerouteQueue,
  dropQueue: drop.dropQueue,
  expireQueue: drop.expireQueue,
  addHoldRule: holdRules.addHoldRule,
  removeHoldRule: holdRules.removeHoldRule,
  appendAudit: audit.appendAudit,
  completeAudit: audit.completeAudit,
  purgeAudit: audit.purgeAudit,
  place: place.place,
  saveLanes: lanes.saveLanes,
  saveProviderSettings: lanes.saveProviderSettings,
  addLaneDays: lanes.addLaneDays,
  addSource: sources.addSource,
  saveSource: sources.saveSource,
  removeSource: sources.removeSource,
  saveAssignment: sources.saveAssignment,
  removeAssignment: sources.removeAssignment,
  createWebhook: webhooks.createWebhook,
  updateWebhook: webhooks.updateWebhook,
  rotateWebhookSecret: webhooks.rotateWebhookSecret,
  deleteWebhook: webhooks.deleteWebhook,
  replayWebhookDeliveries: webhooks.replayWebhookDeliveries,
  purgeWebhookDeliveries: webhooks.purgeWebhookDeliveries,
} satisfies Partial<Methods>
