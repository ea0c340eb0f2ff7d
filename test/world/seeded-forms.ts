import type { TestAppliance } from './appliance.ts'
import { NEWS } from './seeded-mail.ts'

/** Creates a sign-up form of the shop, with a topic of its own, and the public archive that links to it. Returns the form's ID. */
export async function seedForm(posthaste: TestAppliance): Promise<string> {
  const made = async (path: string, body: unknown) =>
    (await posthaste.call<{ id: string }>('POST', path, body)).body.id
  const topic = await made('/topics', { name: 'Letters from the quay', default_subscription: 'opt_out' })
  const form = await made('/forms', {
    name: 'Footer of the shop',
    from: `Harbour Books <news@${NEWS}>`,
    topic_ids: [topic],
    fields: [
      { name: 'first_name', required: false },
      { name: 'favorite_genre', required: false },
    ],
    words: {
      en: {
        title: 'Readings by the sea',
        consent: 'I agree to get about two emails a month.',
        labels: { favorite_genre: 'Favorite genre' },
      },
    },
    allowed_origins: ['https://harbour-books.example'],
  })
  await posthaste.call('PATCH', '/archive', {
    status: 'enabled',
    slug: 'harbour-books',
    description: 'New books, and readings by the sea.',
    form_id: form,
  })
  const sent = await posthaste.call<{ data: { id: string }[] }>('GET', '/broadcasts?status=sent')
  for (const { id } of sent.body.data) await posthaste.call('PATCH', `/broadcasts/${id}`, { archive: true })
  return form
}
