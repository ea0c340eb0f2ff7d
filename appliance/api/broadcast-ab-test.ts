/** A/B tests of broadcasts: variants, results and the winner. */
import { Type, type Static } from 'typebox'
import { variantContents } from '../mail/ab-content.ts'
import {
  type AbTest as StoredTest,
  choiceSentence,
  LEAST_CLICKS,
  SHARE,
  type VariantCounts,
  variantName,
  VARIANTS,
  WAIT_HOURS,
  WHOLE,
} from '../mail/ab-test.ts'
import type { AbTestState, Broadcast } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { path, pathUuid } from './parameters.ts'
import {
  arrayOfObjects,
  count,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  optionalText,
  string,
} from './schemas.ts'
import { DocumentInput, Id, presentDocument, StoredDocument, Timestamp } from './shared.ts'
import { timestampOrNull } from './timestamp.ts'

const LIMITS = {
  share: `Percent of the recipients that get a test email: ${SHARE.least} to ${SHARE.most}, or ${WHOLE} to compare the variants without sending a winner.`,
  wait: `Hours from the last test email until the winner is chosen, ${WAIT_HOURS.least} to ${WAIT_HOURS.most}.`,
}

/** `ab_test` in POST /broadcasts and PATCH /broadcasts/:id. */
export const GivenAbTest = optionalOrNull(
  Type.Object({
    share: Type.Optional(integer(`${LIMITS.share} Default: ${SHARE.usual}.`)),
    wait_hours: optionalOrNull(
      Type.Integer(),
      `${LIMITS.wait} Default: ${WAIT_HOURS.usual}. Absent with a share of 100.`,
    ),
    // Optional here, so that its absence is refused by name.
    variants: Type.Optional(
      arrayOfObjects(
        `Variants B to D: what differs from the broadcast itself, which is variant A. 1 to ${VARIANTS.length - 1}. Required.`,
        {
          from_name: optionalText('The name in the From field. null for the one of the broadcast.'),
          subject: optionalText('The subject. null for the one of the broadcast.'),
          preview_text: optionalText(
            'The preview text. null for the one of the broadcast, "" for no preview text.',
          ),
          html: optionalText('The HTML. null for the content of the broadcast.'),
          text: optionalText('Plain text, beside `html`. null to generate it from the HTML, "" for no text.'),
          document: DocumentInput,
        },
      ),
    ),
  }),
  'An A/B test. The variant whose links most people click goes to the rest. null for no A/B test. Not part of the hosted API.',
)
export type GivenAbTest = Static<typeof GivenAbTest>

/** `ab_test` in GET /broadcasts/:id. */
export const AbTest = Nullable(
  Type.Object({
    share: integer(LIMITS.share),
    wait_hours: Nullable(Type.Integer(), `${LIMITS.wait} null with a share of 100.`),
    variants: arrayOfObjects('B and those after it. Variant A is the broadcast itself.', {
      variant: literals(VARIANTS, 'Its name.'),
      from_name: Nullable(Type.String(), 'The name in the From field; null if it is the same as in A.'),
      subject: Nullable(Type.String(), 'The subject; null if it is the same as in A.'),
      preview_text: Nullable(Type.String(), 'The preview text; null if it is the same as in A.'),
      html: Nullable(Type.String(), 'The HTML; null if the content is the same as in A.'),
      text: Nullable(
        Type.String(),
        'The plain text; null if it is generated, or the content is the same as in A.',
      ),
      document: StoredDocument,
    }),
  }),
  'The A/B test; null without one.',
)

/** Formats the A/B test of a draft. */
export const presentAbTest = (test: StoredTest | null | undefined): Static<typeof AbTest> =>
  test
    ? {
        share: test.share,
        wait_hours: test.waitHours,
        variants: test.variants.map(({ fromName, subject, previewText, body }, index) => ({
          variant: variantName(index + 1),
          from_name: fromName,
          subject,
          preview_text: previewText,
          html: body?.html ?? null,
          text: body?.text ?? null,
          document: presentDocument(body?.document ?? null),
        })),
      }
    : null

/** The steps of a test. */
const PHASES = ['sending', 'waiting', 'decided', 'comparing', 'stopped'] as const

/** `ab_test` in GET /broadcasts/:id/results. */
export const AbTestResults = Nullable(
  Type.Object({
    phase: literals(
      PHASES,
      'sending: the test emails · waiting: for clicks · decided: the winner goes to the rest · comparing: everybody got one of the variants, and none is sent to a rest · stopped: canceled before there was a winner.',
    ),
    decides_at: Nullable(
      Timestamp,
      'When the winner will be chosen; null while the time is not known, and after the choice.',
    ),
    winner: Nullable(literals(VARIANTS), 'The variant that the rest gets; null until it is chosen.'),
    decided_at: Nullable(Timestamp, 'When it was chosen.'),
    reason: Nullable(
      Type.String(),
      `Why it was chosen, with the numbers at that time. With fewer than ${LEAST_CLICKS} clicks, variant A is chosen; in a tie, the first of the best.`,
    ),
    variants: arrayOfObjects('Results of the test emails, without those of the rest.', {
      variant: literals(VARIANTS, 'Its name.'),
      from: string('The From field.'),
      subject: string('The subject.'),
      sent: count('Test emails that were tried.'),
      delivered: count('Delivered.'),
      clicked: count('Recipients that clicked a link, without bots.'),
      unsubscribed: count('Recipients that unsubscribed with its link.'),
      complained: count('Reported as spam.'),
    }),
  }),
  'Progress and results of the A/B test; null before the broadcast is sent, and without an A/B test.',
)
export type AbTestResults = Static<typeof AbTestResults>

type Result = Omit<AbTestState, 'counts'> & { counts: VariantCounts[] }
const HOUR_MS = 3_600_000

/** Formats the progress and results of an A/B test; null without a test. */
export function presentAbTestResults(
  { content, status }: Pick<Broadcast, 'content' | 'status'>,
  result: Result | null,
): AbTestResults {
  const { abTest } = content
  if (!result || !abTest) return null
  const { choice, decidedAt, triedAt } = result
  const phase = phaseOf({ status }, abTest, result)
  const contents = variantContents(content)
  return {
    phase,
    decides_at: timestampOrNull(phase === 'waiting' ? triedAt! + abTest.waitHours! * HOUR_MS : null),
    winner: choice && variantName(choice.winner),
    decided_at: timestampOrNull(decidedAt),
    reason: choice && choiceSentence(choice),
    variants: result.counts.map((counts, index) => ({
      variant: variantName(index),
      from: contents[index]!.from,
      subject: contents[index]!.subject,
      ...counts,
    })),
  }
}

function phaseOf(
  { status }: Pick<Broadcast, 'status'>,
  { share }: StoredTest,
  { choice, triedAt }: Pick<Result, 'choice' | 'triedAt'>,
): (typeof PHASES)[number] {
  if (share === WHOLE) return 'comparing'
  if (choice) return 'decided'
  if (status === 'canceled') return 'stopped'
  return triedAt === null ? 'sending' : 'waiting'
}

export const ChooseVariant = object('The winner.', {
  // Optional here, so that a broadcast of another team gets `not_found` before any other error.
  variant: Type.Optional(string('The name of the variant, such as `B`. Required.')),
})
export const VariantChosen = object('The broadcast.', { object: kind('broadcast'), id: Id })

const operation = operationsIn('Broadcasts')

export const chooseBroadcastVariant = operation('POST /broadcasts/:id/ab-test/winner', {
  summary: 'Choose the winner of an A/B test',
  params: path({ id: pathUuid('The id of the broadcast.') }),
  description:
    'The rest gets this variant from now on, also recipients of the test that wait. It can’t be changed later. Not part of the hosted API.',
  body: ChooseVariant,
  response: { 200: VariantChosen },
})
