/**
 * The methods of the port that are written once for both engines. An engine adds the hot ones (put, lease, settle) and
 * `getMessage`, and runs each as a transaction.
 */
import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Storage } from '../storage.ts'
import * as accounts from './accounts.ts'
import * as drop from './drop.ts'
import * as emails from './emails.ts'
import * as queue from './queue.ts'
import * as senders from './senders.ts'

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
  listApiKeys: senders.listApiKeys,
  listDomains: senders.listDomains,
  getDomain: senders.getDomain,
  findDomain: senders.findDomain,
  dkimKeys: senders.dkimKeys,
  listEmails: emails.listEmails,
  getEmail: emails.getEmail,
  getHistory: emails.getHistory,
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
  createDomain: senders.createDomain,
  deleteDomain: senders.deleteDomain,
  saveDomainCheck: senders.saveDomainCheck,
  unlease: queue.unlease,
  voidLeases: queue.voidLeases,
  holdQueue: queue.holdQueue,
  releaseQueue: queue.releaseQueue,
  retryQueue: queue.retryQueue,
  dropQueue: drop.dropQueue,
} satisfies Partial<Methods>
