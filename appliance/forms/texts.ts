/** The texts of sign-up pages and confirmation emails, by language. Pure. */
import type { FormTexts } from '../mail/form.ts'
import type { PageLanguage } from '../mail/unsubscribe-page.ts'

export interface SignUpTexts {
  title: string
  text: (team: string) => string
  email: string
  firstName: string
  lastName: string
  optional: string
  button: string
  hint: string
  /** Label of the input that people don't see. */
  leaveEmpty: string
  once: string
  badEmail: string
  missing: (label: string) => string
  tooLong: (label: string) => string
  noNumber: (label: string) => string
  sentTitle: string
  sentText: string
  noMail: string
  confirmTitle: string
  confirmText: (team: string, address: string) => string
  lifts: string
  confirm: string
  doneTitle: string
  doneText: (team: string, address: string) => string
  usedTitle: string
  usedText: string
  closedTitle: string
  closedText: string
  busyTitle: string
  busyText: string
  foreignTitle: string
  foreignText: string
  subject: (team: string) => string
  message: (team: string) => string
  validity: string
  ignore: string
}

export const SIGN_UP_TEXTS: Record<PageLanguage, SignUpTexts> = {
  en: {
    title: 'Subscribe',
    text: (team) => `Get email from ${team}.`,
    email: 'Email address',
    firstName: 'First name',
    lastName: 'Last name',
    optional: 'optional',
    button: 'Subscribe',
    hint: 'You’ll get an email with a link that confirms your address.',
    leaveEmpty: 'Leave this empty',
    once: 'Press the button once more to subscribe.',
    badEmail: 'Enter an email address such as ada@example.com.',
    missing: (label) => `${label} is missing.`,
    tooLong: (label) => `${label} is too long or has characters that aren’t allowed.`,
    noNumber: (label) => `${label} must be a number.`,
    sentTitle: 'Check your mailbox',
    sentText: 'You’ll get an email with a link in a few minutes. Open the link to confirm your subscription.',
    noMail: 'No email? Look in the spam folder, and check that you typed the right address.',
    confirmTitle: 'Confirm your subscription',
    confirmText: (team, address) => `Do you want email from ${team} at ${address}?`,
    lifts: 'If you unsubscribed earlier, this subscribes you again.',
    confirm: 'Yes, subscribe me',
    doneTitle: 'You’re subscribed',
    doneText: (team, address) => `${team} will send email to ${address}. Each one has a link to unsubscribe.`,
    usedTitle: 'This link doesn’t work anymore',
    usedText: 'It was already used, or is older than 7 days. If you aren’t subscribed yet, sign up again.',
    closedTitle: 'This form is closed',
    closedText: 'It isn’t accepting sign-ups at the moment.',
    busyTitle: 'Too many sign-ups',
    busyText: 'Nothing was changed. Try again in an hour.',
    foreignTitle: 'You can’t sign up from that site',
    foreignText: 'The site that you came from isn’t allowed to use this form. Sign up on this page instead:',
    subject: (team) => `Confirm your subscription to ${team}`,
    message: (team) => `Someone, probably you, subscribed this address to email from ${team}.`,
    validity: 'The link works once, within 7 days.',
    ignore: 'If it wasn’t you, ignore this email. Nothing happens without your confirmation.',
  },
  de: {
    title: 'Anmelden',
    text: (team) => `E-Mails von ${team} erhalten.`,
    email: 'E-Mail-Adresse',
    firstName: 'Vorname',
    lastName: 'Nachname',
    optional: 'freiwillig',
    button: 'Anmelden',
    hint: 'Sie erhalten eine E-Mail mit einem Link, der Ihre Adresse bestätigt.',
    leaveEmpty: 'Dieses Feld leer lassen',
    once: 'Drücken Sie noch einmal auf die Schaltfläche, um sich anzumelden.',
    badEmail: 'Geben Sie eine E-Mail-Adresse wie ada@example.com ein.',
    missing: (label) => `${label} fehlt.`,
    tooLong: (label) => `${label} ist zu lang oder enthält unzulässige Zeichen.`,
    noNumber: (label) => `${label} muss eine Zahl sein.`,
    sentTitle: 'Schauen Sie in Ihr Postfach',
    sentText:
      'In wenigen Minuten erhalten Sie eine E-Mail mit einem Link. Öffnen Sie ihn, um die Anmeldung zu bestätigen.',
    noMail: 'Keine E-Mail? Sehen Sie im Spamordner nach, und prüfen Sie, ob die Adresse stimmt.',
    confirmTitle: 'Anmeldung bestätigen',
    confirmText: (team, address) => `Möchten Sie E-Mails von ${team} an ${address} erhalten?`,
    lifts: 'Wenn Sie sich früher abgemeldet haben, melden Sie sich hiermit wieder an.',
    confirm: 'Ja, anmelden',
    doneTitle: 'Sie sind angemeldet',
    doneText: (team, address) =>
      `${team} sendet E-Mails an ${address}. Jede enthält einen Link zum Abbestellen.`,
    usedTitle: 'Dieser Link funktioniert nicht mehr',
    usedText:
      'Er wurde schon benutzt oder ist älter als 7 Tage. Wenn Sie noch nicht angemeldet sind, melden Sie sich erneut an.',
    closedTitle: 'Dieses Formular ist geschlossen',
    closedText: 'Zurzeit sind keine Anmeldungen möglich.',
    busyTitle: 'Zu viele Anmeldungen',
    busyText: 'Es wurde nichts geändert. Versuchen Sie es in einer Stunde erneut.',
    foreignTitle: 'Die Anmeldung ist von dort aus nicht möglich',
    foreignText:
      'Die Website, von der Sie kommen, darf dieses Formular nicht verwenden. Melden Sie sich stattdessen hier an:',
    subject: (team) => `Bestätigen Sie Ihre Anmeldung bei ${team}`,
    message: (team) => `Jemand, vermutlich Sie selbst, hat diese Adresse für E-Mails von ${team} angemeldet.`,
    validity: 'Der Link funktioniert einmal, innerhalb von 7 Tagen.',
    ignore: 'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Ohne Ihre Bestätigung geschieht nichts.',
  },
  fr: {
    title: 'S’abonner',
    text: (team) => `Recevez les e-mails de ${team}.`,
    email: 'Adresse e-mail',
    firstName: 'Prénom',
    lastName: 'Nom',
    optional: 'facultatif',
    button: 'S’abonner',
    hint: 'Vous recevrez un e-mail contenant un lien pour confirmer votre adresse.',
    leaveEmpty: 'Laissez ce champ vide',
    once: 'Appuyez encore une fois sur le bouton pour vous abonner.',
    badEmail: 'Saisissez une adresse e-mail telle que ada@example.com.',
    missing: (label) => `Le champ « ${label} » est vide.`,
    tooLong: (label) => `Le champ « ${label} » est trop long ou contient des caractères interdits.`,
    noNumber: (label) => `Le champ « ${label} » doit être un nombre.`,
    sentTitle: 'Consultez votre messagerie',
    sentText:
      'Vous recevrez un e-mail contenant un lien dans quelques minutes. Ouvrez ce lien pour confirmer votre abonnement.',
    noMail: 'Pas d’e-mail ? Regardez dans le dossier des indésirables et vérifiez l’adresse saisie.',
    confirmTitle: 'Confirmez votre abonnement',
    confirmText: (team, address) => `Voulez-vous recevoir les e-mails de ${team} à l’adresse ${address} ?`,
    lifts: 'Si vous vous étiez désabonné(e), cela vous réabonne.',
    confirm: 'Oui, m’abonner',
    doneTitle: 'Vous êtes abonné(e)',
    doneText: (team, address) =>
      `${team} enverra des e-mails à ${address}. Chacun contient un lien de désabonnement.`,
    usedTitle: 'Ce lien ne fonctionne plus',
    usedText:
      'Il a déjà été utilisé ou date de plus de 7 jours. Si vous n’êtes pas encore abonné(e), inscrivez-vous à nouveau.',
    closedTitle: 'Ce formulaire est fermé',
    closedText: 'Les inscriptions ne sont pas possibles pour le moment.',
    busyTitle: 'Trop d’inscriptions',
    busyText: 'Rien n’a été modifié. Réessayez dans une heure.',
    foreignTitle: 'Inscription impossible depuis ce site',
    foreignText:
      'Le site d’où vous venez n’est pas autorisé à utiliser ce formulaire. Inscrivez-vous plutôt sur cette page :',
    subject: (team) => `Confirmez votre abonnement à ${team}`,
    message: (team) => `Quelqu’un, sans doute vous, a abonné cette adresse aux e-mails de ${team}.`,
    validity: 'Le lien fonctionne une seule fois, pendant 7 jours.',
    ignore: 'Si ce n’était pas vous, ignorez cet e-mail. Sans votre confirmation, il ne se passe rien.',
  },
  es: {
    title: 'Suscribirse',
    text: (team) => `Reciba los correos de ${team}.`,
    email: 'Correo electrónico',
    firstName: 'Nombre',
    lastName: 'Apellidos',
    optional: 'opcional',
    button: 'Suscribirme',
    hint: 'Recibirá un correo con un enlace para confirmar su dirección.',
    leaveEmpty: 'Deje este campo vacío',
    once: 'Pulse el botón una vez más para suscribirse.',
    badEmail: 'Introduzca una dirección de correo como ada@example.com.',
    missing: (label) => `Falta el campo «${label}».`,
    tooLong: (label) => `El campo «${label}» es demasiado largo o contiene caracteres no permitidos.`,
    noNumber: (label) => `El campo «${label}» debe ser un número.`,
    sentTitle: 'Revise su buzón',
    sentText:
      'En unos minutos recibirá un correo con un enlace. Abra el enlace para confirmar la suscripción.',
    noMail: '¿No ha llegado? Mire en la carpeta de spam y compruebe que la dirección es correcta.',
    confirmTitle: 'Confirme su suscripción',
    confirmText: (team, address) => `¿Quiere recibir los correos de ${team} en ${address}?`,
    lifts: 'Si se había dado de baja, esto vuelve a suscribirle.',
    confirm: 'Sí, suscribirme',
    doneTitle: 'Ya está suscrito',
    doneText: (team, address) =>
      `${team} enviará correos a ${address}. Cada uno contiene un enlace para darse de baja.`,
    usedTitle: 'Este enlace ya no funciona',
    usedText: 'Ya se utilizó, o tiene más de 7 días. Si aún no está suscrito, regístrese de nuevo.',
    closedTitle: 'Este formulario está cerrado',
    closedText: 'En este momento no acepta suscripciones.',
    busyTitle: 'Demasiadas suscripciones',
    busyText: 'No se ha cambiado nada. Inténtelo de nuevo dentro de una hora.',
    foreignTitle: 'No es posible suscribirse desde ese sitio',
    foreignText:
      'El sitio del que viene no tiene permiso para usar este formulario. Suscríbase en esta página:',
    subject: (team) => `Confirme su suscripción a ${team}`,
    message: (team) => `Alguien, probablemente usted, suscribió esta dirección a los correos de ${team}.`,
    validity: 'El enlace funciona una sola vez, durante 7 días.',
    ignore: 'Si no fue usted, ignore este correo. Sin su confirmación no ocurre nada.',
  },
}

/** Returns the label of a field: the team's own, or the default one; properties without a label show their key. */
export function getFieldLabel(name: string, own: FormTexts | undefined, words: SignUpTexts): string {
  const defaults: Record<string, string> = { first_name: words.firstName, last_name: words.lastName }
  const labels = own?.labels ?? {}
  const label = Object.hasOwn(labels, name) ? labels[name] : undefined
  return label ?? (Object.hasOwn(defaults, name) ? defaults[name]! : name)
}
