/** The texts of the preference page, by language. Pure. */
import type { PageLanguage } from '../mail/unsubscribe-page.ts'

export interface PageTexts {
  /** Heading if there is no topic. */
  title: string
  text: (team: string, address: string) => string
  topicTitle: (topic: string) => string
  leaveTopic: (topic: string) => string
  topics: string
  save: string
  stop: string
  stopHint: (team: string) => string
  outTitle: string
  outText: (team: string, address: string) => string
  leftTopic: (topic: string) => string
  saved: string
  returned: string
  mistake: string
  takeBack: string
  /** Plain-text response to one-click (RFC 8058). */
  done: string
  notFoundTitle: string
  notFoundText: string
}

export const PAGE_TEXTS: Record<PageLanguage, PageTexts> = {
  en: {
    title: 'Email preferences',
    text: (team, address) => `Choose which emails ${team} sends to ${address}.`,
    topicTitle: (topic) => `Unsubscribe from ${topic}?`,
    leaveTopic: (topic) => `Unsubscribe from ${topic}`,
    topics: 'Topics',
    save: 'Save choices',
    stop: 'Unsubscribe from everything',
    stopHint: (team) => `Stop all newsletters and announcements from ${team}.`,
    outTitle: 'You’re unsubscribed',
    outText: (team, address) => `${team} sends no more newsletters or announcements to ${address}.`,
    leftTopic: (topic) => `You’re unsubscribed from ${topic}.`,
    saved: 'Your choices are saved.',
    returned: 'You’re subscribed again.',
    mistake: 'Unsubscribed by mistake?',
    takeBack: 'Take me back',
    done: 'You are unsubscribed.',
    notFoundTitle: 'This link doesn’t work',
    notFoundText: 'It may be incomplete. Copy the whole link from the email. Nothing was changed.',
  },
  de: {
    title: 'E-Mail-Einstellungen',
    text: (team, address) => `Wählen Sie, welche E-Mails ${team} an ${address} sendet.`,
    topicTitle: (topic) => `${topic} abbestellen?`,
    leaveTopic: (topic) => `${topic} abbestellen`,
    topics: 'Themen',
    save: 'Auswahl speichern',
    stop: 'Alles abbestellen',
    stopHint: (team) => `Keine Newsletter und Ankündigungen von ${team} mehr erhalten.`,
    outTitle: 'Sie sind abgemeldet',
    outText: (team, address) => `${team} sendet keine Newsletter und Ankündigungen mehr an ${address}.`,
    leftTopic: (topic) => `Sie haben ${topic} abbestellt.`,
    saved: 'Ihre Auswahl ist gespeichert.',
    returned: 'Sie sind wieder angemeldet.',
    mistake: 'Versehentlich abgemeldet?',
    takeBack: 'Wieder anmelden',
    done: 'Sie sind abgemeldet.',
    notFoundTitle: 'Dieser Link funktioniert nicht',
    notFoundText:
      'Vielleicht ist er unvollständig. Kopieren Sie den ganzen Link aus der E-Mail. Es wurde nichts geändert.',
  },
  fr: {
    title: 'Préférences d’e-mail',
    text: (team, address) => `Choisissez les e-mails que ${team} envoie à ${address}.`,
    topicTitle: (topic) => `Se désabonner de ${topic} ?`,
    leaveTopic: (topic) => `Se désabonner de ${topic}`,
    topics: 'Thèmes',
    save: 'Enregistrer mes choix',
    stop: 'Se désabonner de tout',
    stopHint: (team) => `Ne plus recevoir de newsletters ni d’annonces de ${team}.`,
    outTitle: 'Vous êtes désabonné(e)',
    outText: (team, address) => `${team} n’envoie plus de newsletters ni d’annonces à ${address}.`,
    leftTopic: (topic) => `Vous êtes désabonné(e) de ${topic}.`,
    saved: 'Vos choix sont enregistrés.',
    returned: 'Vous êtes de nouveau abonné(e).',
    mistake: 'Désabonné(e) par erreur ?',
    takeBack: 'Me réabonner',
    done: 'Vous êtes désabonné(e).',
    notFoundTitle: 'Ce lien ne fonctionne pas',
    notFoundText: 'Il est peut-être incomplet. Copiez le lien entier depuis l’e-mail. Rien n’a été modifié.',
  },
  es: {
    title: 'Preferencias de correo',
    text: (team, address) => `Elija qué correos envía ${team} a ${address}.`,
    topicTitle: (topic) => `¿Darse de baja de ${topic}?`,
    leaveTopic: (topic) => `Darse de baja de ${topic}`,
    topics: 'Temas',
    save: 'Guardar mi selección',
    stop: 'Darse de baja de todo',
    stopHint: (team) => `Dejar de recibir boletines y anuncios de ${team}.`,
    outTitle: 'Se ha dado de baja',
    outText: (team, address) => `${team} ya no envía boletines ni anuncios a ${address}.`,
    leftTopic: (topic) => `Se ha dado de baja de ${topic}.`,
    saved: 'Su selección se ha guardado.',
    returned: 'Vuelve a estar suscrito.',
    mistake: '¿Se ha dado de baja por error?',
    takeBack: 'Volver a suscribirme',
    done: 'Se ha dado de baja.',
    notFoundTitle: 'Este enlace no funciona',
    notFoundText: 'Puede que esté incompleto. Copie el enlace completo del correo. No se ha cambiado nada.',
  },
}
