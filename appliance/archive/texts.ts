/** The texts of the archive's pages, by language. Pure. */
import type { PageLanguage } from '../mail/unsubscribe-page.ts'

export interface ArchiveWords {
  subscribe: string
  feed: string
  empty: string
  /** Name of the navigation between pages of the list. */
  pages: string
  newest: string
  older: string
  /** Link from a broadcast to the list. */
  all: string
  /** Accessible name of the frame with the email. */
  email: (subject: string) => string
  notFoundTitle: string
  notFoundText: string
}

export const ARCHIVE_TEXTS: Record<PageLanguage, ArchiveWords> = {
  en: {
    subscribe: 'Subscribe',
    feed: 'Feed',
    empty: 'No emails yet.',
    pages: 'Pages',
    newest: 'Newest',
    older: 'Older',
    all: 'All emails',
    email: (subject) => `Email: ${subject}`,
    notFoundTitle: 'Page not found',
    notFoundText: 'The link may be incomplete, or the page is no longer public.',
  },
  de: {
    subscribe: 'Abonnieren',
    feed: 'Feed',
    empty: 'Noch keine E-Mails.',
    pages: 'Seiten',
    newest: 'Neueste',
    older: 'Ältere',
    all: 'Alle E-Mails',
    email: (subject) => `E-Mail: ${subject}`,
    notFoundTitle: 'Seite nicht gefunden',
    notFoundText: 'Der Link ist vielleicht unvollständig, oder die Seite ist nicht mehr öffentlich.',
  },
  fr: {
    subscribe: 'S’abonner',
    feed: 'Flux',
    empty: 'Aucun e-mail pour le moment.',
    pages: 'Pages',
    newest: 'Les plus récents',
    older: 'Plus anciens',
    all: 'Tous les e-mails',
    email: (subject) => `E-mail : ${subject}`,
    notFoundTitle: 'Page introuvable',
    notFoundText: 'Le lien est peut-être incomplet, ou la page n’est plus publique.',
  },
  es: {
    subscribe: 'Suscribirse',
    feed: 'Feed',
    empty: 'Todavía no hay correos.',
    pages: 'Páginas',
    newest: 'Más recientes',
    older: 'Anteriores',
    all: 'Todos los correos',
    email: (subject) => `Correo: ${subject}`,
    notFoundTitle: 'Página no encontrada',
    notFoundText: 'Puede que el enlace esté incompleto, o que la página ya no sea pública.',
  },
}
