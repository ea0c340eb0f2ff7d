/** Opens and clicks of emails. */
import type { EventData } from '../../mail/event.ts'

/** What is known of an email when somebody opens it or follows its links. */
export interface TrackedEmail {
  teamId: string
  /** What the domain's owner wants recorded now. */
  opens: boolean
  clicks: boolean
  /** When the first recipient's server took it (Unix milliseconds); null: none has yet. */
  deliveredAt: number | null
  /** The one delivery and its recipient; null where there are several, which one link cannot tell apart. */
  deliveryId: string | null
  recipient: string | null
}

/** An open or a click. */
export interface NewHit {
  /** Of the event. */
  id: string
  teamId: string
  emailId: string
  deliveryId: string | null
  type: 'email.opened' | 'email.clicked'
  data: EventData
}

export interface TrackingStorage {
  /** Undefined when there is no such email, or its domain is gone. */
  trackedEmail(args: { emailId: string }, now: number): Promise<TrackedEmail | undefined>
  /** Records the event. A person's also becomes the email's `last_event`, unless that says more already. */
  recordHit(args: NewHit, now: number): Promise<void>
}
