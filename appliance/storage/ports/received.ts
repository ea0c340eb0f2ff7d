/** Mail that port 25 takes from clients that have not signed in. Nothing about it is verified. */
import type { DomainStatus } from './senders.ts'
import type { Page, PageArgs } from './page.ts'

/** A received message without its bytes. */
export interface ReceivedMessage {
  id: string
  receivedAt: number
  /** MAIL FROM; empty for the null sender. */
  mailFrom: string
  rcptTo: string
  /** The client's address, and what it called itself. */
  ip: string
  helo: string
  /** TLS version; null for plain text. */
  tls: string | null
  /** Bytes of the message. */
  size: number
}

/** A message that came to the return path of an email. */
export interface ReturnedMessage extends ReceivedMessage {
  /** False when only the envelope is stored, because the content of the email is not kept. */
  hasContent: boolean
}

/** What happens to a postmaster message beside being kept. */
export type Forwarding =
  { state: 'off' | 'due' } | { state: 'done'; emailId: string } | { state: 'skipped'; reason: string }

/** A message to postmaster or abuse. */
export interface PostmasterMessage extends ReceivedMessage {
  forwarding: Forwarding
}

/** The bytes exactly as they arrived, CRLF line ends, dots unstuffed. */
export interface WithBytes {
  bytes: Uint8Array
}

/** How much is kept. Every row counts 1024 bytes more than its content. */
export interface ReturnedLimits {
  /** Messages and bytes of one email; further ones are refused. */
  emailMessages: number
  emailBytes: number
  /** Bytes of one team and of all; the oldest are removed, in all those of the team that has most. */
  teamBytes: number
  allBytes: number
}

/** Messages and bytes in the postmaster mailbox; the oldest are removed. */
export interface PostmasterLimits {
  messages: number
  bytes: number
}

export interface ReceivedStorage {
  /** The team and return path of an email; undefined when there is none. */
  findReturnPath(
    args: { emailId: string },
    now: number,
  ): Promise<{ teamId: string; returnPath: string } | undefined>
  /** Statuses of the domains of which `name` (lower case, A-labels) is the name or the return path host. */
  domainsServedAs(args: { name: string }, now: number): Promise<DomainStatus[]>
  /** Stores a returned message. Nothing is stored unless the answer is `kept`. */
  keepReturned(
    args: { emailId: string; message: ReceivedMessage & WithBytes; limits: ReturnedLimits },
    now: number,
  ): Promise<'kept' | 'full' | 'unknown'>
  /** All returned messages of an email, newest first: `ReturnedLimits` bounds them. */
  listReturned(args: { teamId: string; emailId: string }, now: number): Promise<ReturnedMessage[]>
  /** The bytes of one; undefined when there is none, or its content is not kept. */
  getReturned(
    args: { teamId: string; emailId: string; id: string },
    now: number,
  ): Promise<Uint8Array | undefined>
  keepPostmaster(
    args: { message: ReceivedMessage & WithBytes; forward: 'off' | 'due'; limits: PostmasterLimits },
    now: number,
  ): Promise<void>
  /** Newest first. */
  listPostmaster(args: Omit<PageArgs, 'teamId'>, now: number): Promise<Page<PostmasterMessage>>
  getPostmaster(args: { id: string }, now: number): Promise<Uint8Array | undefined>
  /** The oldest message to be forwarded. */
  duePostmaster(args: object, now: number): Promise<(PostmasterMessage & WithBytes) | undefined>
  settlePostmaster(
    args: { id: string; forwarding: Exclude<Forwarding, { state: 'off' | 'due' }> },
    now: number,
  ): Promise<void>
  /** Removes what was received before; returns how many. `most` bounds the rows of each kind. */
  purgeReceived(args: { before: number; most: number }, now: number): Promise<number>
}
