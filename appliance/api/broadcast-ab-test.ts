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
import { operation } from './operation.ts'
import { path, pathUuid } from './parameters.ts'
import {
  count,
  described,
  DocumentInput,
  Id,
  kind,
  literals,
  Nullable,
  optionalText,
  presentDocument,
  StoredDocument,
  Timestamp,
} from './shared.ts'
import { timestampOrNull } from './timestamp.ts'

const LIMITS = {
  share: `Percent of the recipients that get a test email: ${SHARE.least} to ${SHARE.most}, or ${WHOLE} to compare the variants without sending a winner.`,
  wait: `Hours from the last test email until the winner is chosen, ${WAIT_HOURS.least} to ${WAIT_HOURS.most}.`,
}

/** `ab_test` in POST /broadcasts and PATCH /broadcasts/:id. */
export const GivenAbTest = Type.Optional(
  Nullable(
    Type.Object({
      share: Type.Optional(Type.Integer(described(`${LIMITS.share} Default: ${SHARE.usual}.`))),
      wait_hours: Type.Optional(
        Nullable(
          Type.Integer(),
          described(`${LIMITS.wait} Default: ${WAIT_HOURS.usual}. Absent with a share of 100.`),
        ),
      ),
      // Optional here, so that its absence is refused by name.
      variants: Type.Optional(
        Type.Array(
          Type.Object({
            from_name: optionalText('The name in the From field. null: as in the broadcast.'),
            subject: optionalText('The subject. null: as in the broadcast.'),
            preview_text: optionalText('The preview text. null: as in the broadcast; "": none.'),
            html: optionalText('The HTML. null: the content of the broadcast.'),
            text: optionalText('Plain text, beside `html`. null: generated from the HTML; "": none.'),
            document: DocumentInput,
          }),
          described(
            `Variants B to D: what differs from the broadcast itself, which is variant A. 1 to ${VARIANTS.length - 1}. Required.`,
          ),
        ),
      ),
    }),
    described(
      'An A/B test. The variant whose links most people click goes to the rest. null: none. Not part of the hosted API.',
    ),
  ),
)
export type GivenAbTest = Static<typeof GivenAbTest>

/** `ab_test` in GET /broadcasts/:id. */
export const AbTest = Nullable(
  Type.Object({
    share: Type.Integer(described(LIMITS.share)),
    wait_hours: Nullable(Type.Integer(), described(`${LIMITS.wait} null with a share of 100.`)),
    variants: Type.Array(
      Type.Object({
        variant: literals(VARIANTS, described('Its name.')),
        from_name: Nullable(Type.String(), described('The name in the From field; null: as in A.')),
        subject: Nullable(Type.String(), described('The subject; null: as in A.')),
        preview_text: Nullable(Type.String(), described('The preview text; null: as in A.')),
        html: Nullable(Type.String(), described('The HTML; null: the content of A.')),
        text: Nullable(Type.String(), described('The plain text; null: generated, or the content of A.')),
        document: StoredDocument,
      }),
      described('B and those after it. Variant A is the broadcast itself.'),
    ),
  }),
  described('The A/B test; null: none.'),
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
      described(
        'sending: the test emails · waiting: for clicks · decided: the winner goes to the rest · comparing: everybody got one of the variants, and none is sent to a rest · stopped: canceled before there was a winner.',
      ),
    ),
    decides_at: Nullable(Timestamp, described('When the winner is chosen; null: not known, or chosen.')),
    winner: Nullable(literals(VARIANTS), described('The variant that the rest gets; null: none yet.')),
    decided_at: Nullable(Timestamp, described('When it was chosen.')),
    reason: Nullable(
      Type.String(),
      described(
        `Why it was chosen, with the numbers at that time. With fewer than ${LEAST_CLICKS} clicks, variant A is chosen; in a tie, the first of the best.`,
      ),
    ),
    variants: Type.Array(
      Type.Object({
        variant: literals(VARIANTS, described('Its name.')),
        from: Type.String(described('The From field.')),
        subject: Type.String(described('The subject.')),
        sent: count('Test emails that were tried.'),
        delivered: count('Delivered.'),
        clicked: count('Recipients that clicked a link, without bots.'),
        unsubscribed: count('Recipients that unsubscribed with its link.'),
        complained: count('Reported as spam.'),
      }),
      described('Results of the test emails, without those of the rest.'),
    ),
  }),
  described('How the A/B test stands; null: the broadcast has none, or was not sent yet.'),
)
export type AbTestResults = Static<typeof AbTestResults>

type Result = Omit<AbTestState, 'counts'> & { counts: VariantCounts[] }
const HOUR_MS = 3_600_000

/** Formats how an A/B test stands. @param result null: there is none */
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

/** POST /broadcasts/:id/ab-test/winner */
export const ChooseVariant = Type.Object(
  {
    // Optional here, so that a broadcast of another team gets `not_found` before any other error.
    variant: Type.Optional(Type.String(described('The name of the variant, such as `B`. Required.'))),
  },
  described('The winner.'),
)
export const VariantChosen = Type.Object({ object: kind('broadcast'), id: Id }, described('The broadcast.'))

export const chooseVariant = operation('POST /broadcasts/:id/ab-test/winner', {
  operationId: 'chooseBroadcastVariant',
  tags: ['Broadcasts'],
  summary: 'Choose the winner of an A/B test',
  params: path({ id: pathUuid('The id of the broadcast.') }),
  description:
    'The rest gets this variant from now on, also recipients of the test that wait. It can’t be changed later. Not part of the hosted API.',
  body: ChooseVariant,
  response: { 200: VariantChosen },
})
