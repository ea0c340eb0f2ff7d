/**
 * The methods of the port that are written once for both engines. An engine adds the hot ones (put, lease, settle, saveLogs) and
 * `getMessage`, and runs each as a transaction.
 */
import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Storage } from '../storage.ts'
import * as accounts from './accounts.ts'
import * as drop from './drop.ts'
import * as emails from './emails.ts'
import * as logs from './logs.ts'
import * as queue from './queue.ts'
import * as quotas from './quotas.ts'
import * as receipts from './receipts.ts'
import * as reports from './reports.ts'
import * as scheduled from './scheduled.ts'
import * as secrets from './secrets.ts'
import * as senders from './senders.ts'
import * as suppressions from './suppressions.ts'

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
  firstTeam: accounts.firstTeam,
  findSession: accounts.findSession,
  findApiKey: senders.findApiKey,
  getApiKey: senders.getApiKey,
  listApiKeys: senders.listApiKeys,
  listDomains: senders.listDomains,
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
  getEmail: emails.getEmail,
  getHistory: emails.getHistory,
  findReceipt: receipts.findReceipt,
  planOf: quotas.planOf,
  usage: quotas.usage,
  listLogs: logs.listLogs,
  getLog: logs.getLog,
  dueReports: reports.dueReports,
  nextDue: queue.nextDue,
  queueSummary: queue.queueSummary,
  listQueue: queue.listQueue,
} satisfies Partial<Methods>

/** Reads of which an engine makes its own methods. */
export const parts = {
  messageBody: emails.messageBody,
  existingEmails: emails.existingEmails,
}

/** Methods that write. */
export const writes = {
  createOwner: accounts.createOwner,
  setPassword: accounts.setPassword,
  createSession: accounts.createSession,
  deleteSession: accounts.deleteSession,
  purgeSessions: accounts.purgeSessions,
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
  dropReports: reports.dropReports,
  unlease: queue.unlease,
  voidLeases: queue.voidLeases,
  holdQueue: queue.holdQueue,
  releaseQueue: queue.releaseQueue,
  retryQueue: queue.retryQueue,
  dropQueue: drop.dropQueue,
} satisfies Partial<Methods>
