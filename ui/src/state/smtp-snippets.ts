/** Languages of the snippets; `LANGUAGES` has their labels. */
export type Language = 'curl' | 'node' | 'python' | 'php'

/** Values that are filled into an SMTP snippet. */
export interface SmtpSnippetValues {
  host: string
  /** A port that supports STARTTLS. */
  port: number
  token: string
  /** The sender's address, without and with a name. */
  sender: string
  from: string
  to: string
}

/** Returns code that sends one email over SMTP with TLS and verifies the server's certificate. */
export function renderSmtpSnippet(language: Language, blanks: SmtpSnippetValues): string {
  const { host, port, token, sender, from, to } = blanks
  switch (language) {
    case 'curl':
      return `curl smtp://${host}:${port} --ssl-reqd --user 'posthaste:${token}' \\
  --mail-from '${sender}' --mail-rcpt '${to}' \\
  --crlf --upload-file - <<'END'
From: ${from}
To: ${to}
Subject: Hello

It works.
END`
    case 'node':
      return `// npm install nodemailer
import { createTransport } from 'nodemailer'

const transport = createTransport({
  host: '${host}',
  port: ${port},
  requireTLS: true,
  auth: { user: 'posthaste', pass: '${token}' },
})

const { response } = await transport.sendMail({
  from: '${from}',
  to: '${to}',
  subject: 'Hello',
  text: 'It works.',
})
console.log(response)`
    case 'python':
      return `import smtplib, ssl
from email.message import EmailMessage

mail = EmailMessage()
mail["From"] = "${from}"
mail["To"] = "${to}"
mail["Subject"] = "Hello"
mail.set_content("It works.")

with smtplib.SMTP("${host}", ${port}) as smtp:
    smtp.starttls(context=ssl.create_default_context())
    smtp.login("posthaste", "${token}")
    smtp.send_message(mail)`
    case 'php':
      return phpMailer(blanks)
  }
}

const phpMailer = ({
  host,
  port,
  token,
  sender,
  to,
}: SmtpSnippetValues): string => `// composer require phpmailer/phpmailer
require 'vendor/autoload.php';

$mail = new PHPMailer\\PHPMailer\\PHPMailer(true);
$mail->isSMTP();
$mail->Host = '${host}';
$mail->Port = ${port};
$mail->SMTPSecure = 'tls';
$mail->SMTPAuth = true;
$mail->Username = 'posthaste';
$mail->Password = '${token}';
$mail->setFrom('${sender}', 'Me');
$mail->addAddress('${to}');
$mail->Subject = 'Hello';
$mail->Body = 'It works.';
$mail->send();`
