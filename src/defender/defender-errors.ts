// The numbered errors of the Defender.
import { errorTable } from '#lib/error-table.ts'

export const defenderErrors = errorTable({
  KN3001_webhookSecret: {
    text: 'cannot store the webhook certificate in Secret {webhookSecret}: too many write conflicts',
    next: 'retried automatically',
  },
  KN1206_webhook: {
    text: 'cannot serve the webhook on {host}:{port}: {why}',
    next: 'choose another port',
  },
  KN10010: {
    text: 'cannot read the limit {text}',
    next: 'write a number or a percentage',
  },
})
