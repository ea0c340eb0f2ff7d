import * as api from '../../api/unsubscribe-page.ts'
import type { UnsubscribePageChange } from '../../storage/storage.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

/** Routes for the design of the team's preference page. */
export function unsubscribePageRoutes(app: App, { audience }: HttpDeps): void {
  const read = async (teamId: string) =>
    api.presentUnsubscribePage(await audience.getUnsubscribePage({ teamId }))
  serve(app, api.getUnsubscribePage, {}, (request) => read(getCaller(request).teamId))
  serve(
    app,
    api.updateUnsubscribePage,
    {
      audit: {
        action: 'unsubscribe_page.update',
        read: (request) => read(getCaller(request).teamId),
      },
    },
    async (request) => {
      const { teamId } = getCaller(request)
      const change = changeOf(request.body)
      return api.presentUnsubscribePage(await audience.updateUnsubscribePage({ teamId, change }))
    },
  )
}

/** Converts a body; absent fields stay unchanged. */
function changeOf(body: api.UpdateUnsubscribePage): UnsubscribePageChange {
  const given: Record<keyof UnsubscribePageChange, unknown> = {
    words: body.words,
    defaultLanguage: body.default_language,
    background: body.background_color,
    text: body.text_color,
    accent: body.accent_color,
    logo: body.logo,
    postalAddress: body.postal_address,
  }
  const changed = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(changed)
}
