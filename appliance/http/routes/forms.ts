import type { FastifyRequest } from 'fastify'
import * as api from '../../api/forms.ts'
import { paginateList, presentDeleted, presentList } from '../../api/shared.ts'
import type { FormInput } from '../../forms/forms.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

const ref = (request: FastifyRequest) => ({
  teamId: getCaller(request).teamId,
  id: (request.params as { id: string }).id,
})

/** Routes for a team's sign-up forms. */
export function formRoutes(app: App, { forms }: Pick<HttpDeps, 'forms'>): void {
  const read = async (request: FastifyRequest) => api.presentFormSetting(await forms.get(ref(request)))
  const noun = 'form' as const
  serve(app, api.createForm, { audit: { action: 'form.create', noun } }, async (request, reply) => {
    const form = await forms.create({ teamId: getCaller(request).teamId, input: inputOf(request.body) })
    void reply.code(201)
    return api.presentForm(form)
  })
  serve(app, api.listForms, {}, async (request) => {
    const page = paginateList(await forms.list({ teamId: getCaller(request).teamId }), request.query)
    return presentList(page.items.map(api.presentForm), page.hasMore)
  })
  serve(app, api.getForm, {}, async (request) => api.presentForm(await forms.get(ref(request))))
  serve(app, api.updateForm, { audit: { action: 'form.update', noun, read } }, async (request) =>
    api.presentForm(await forms.update({ ...ref(request), input: inputOf(request.body) })),
  )
  serve(app, api.deleteForm, { audit: { action: 'form.delete', noun, read } }, async (request) => {
    await forms.remove(ref(request))
    return presentDeleted(noun, request.params.id)
  })
}

/** Converts a body; absent fields stay undefined. */
const inputOf = (body: api.UpdateForm): FormInput => ({
  name: body.name,
  status: body.status,
  segmentIds: body.segment_ids,
  topicIds: body.topic_ids,
  fields: body.fields,
  from: body.from,
  languages: body.languages,
  words: body.words,
  submittedUrl: body.submitted_url,
  confirmedUrl: body.confirmed_url,
  origins: body.allowed_origins,
})
