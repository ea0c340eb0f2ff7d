/** Settings and limits of sign-up forms. Pure; also used by the dashboard. */
import type { PageLanguage } from './unsubscribe-page.ts'

/** Whether a form takes sign-ups. */
export const FORM_STATUSES = ['enabled', 'disabled'] as const
export type FormStatus = (typeof FORM_STATUSES)[number]

/** Fields of a contact that a form may ask for, besides properties. */
export const NAME_FIELDS = ['first_name', 'last_name'] as const

/** A value that a form asks for. */
export interface FormField {
  /** `first_name`, `last_name`, or the key of a contact property. */
  name: string
  required: boolean
}

/** A team's own texts in one language; null for the default ones. */
export interface FormTexts {
  /** Heading of the page. */
  title: string | null
  /** Text below the heading. */
  text: string | null
  /** Text above the button that says what the person agrees to. */
  consent: string | null
  button: string | null
  /** Subject of the confirmation email. */
  subject: string | null
  /** First paragraph of the confirmation email. */
  message: string | null
  /** Labels of fields, by name of the field. */
  labels: Record<string, string>
}

/** The settings of a form, which the team chooses. */
export interface FormSettings {
  name: string
  status: FormStatus
  /** Segments and topics that people are added to. */
  segmentIds: string[]
  topicIds: string[]
  fields: FormField[]
  /** Sender of the confirmation email. */
  from: string
  /** Languages of the page and the email; the first is the default. */
  languages: PageLanguage[]
  words: Partial<Record<PageLanguage, FormTexts>>
  /**
   * URLs to which the browser is redirected after the sign-up and after the confirmation; null for a page of this
   * server.
   */
  submittedUrl: string | null
  confirmedUrl: string | null
  /** Origins of other sites that may contain the form, such as `https://example.com`. */
  origins: string[]
}

export interface Form extends FormSettings {
  id: string
  teamId: string
  /** Number of sign-ups, and how many were confirmed. */
  submitted: number
  confirmed: number
  /** Unix milliseconds. */
  createdAt: number
  updatedAt: number
}

/** A form with its page. */
export interface FormDetails extends Form {
  /** URL of the form's page; null if this server has no public address. */
  url: string | null
  /** The form as HTML for another site; null without `url`. */
  html: string | null
}

/** How long a confirmation link works, in milliseconds. */
export const CONFIRMATION_LIFETIME_MS = 7 * 86_400_000

/** Limits on confirmation emails. */
export const FORM_LIMITS = {
  /** Maximum number of emails to one address, from one team. */
  addressPerHour: 1,
  addressPerDay: 3,
  /** From one form. */
  formPerHour: 1000,
  /** Maximum number of sign-ups from one IPv4 address or IPv6 /48 within an hour. */
  networkPerHour: 20,
}

/** The name of an input: property keys have a prefix, so that they can't collide with others. */
export const getInputName = (field: string): string =>
  (NAME_FIELDS as readonly string[]).includes(field) ? field : `properties.${field}`
