// The names in the webhook's certificate, and the Secret in which all Defenders of a cluster share it and the paths.
import { WEBHOOK_NAMESPACE, WEBHOOK_SECRET } from '#api/names.ts'
import { newServingCertificate, type ServingCertificate } from '#runtime/tls/serving-certificate.ts'

export type WebhookCertificate = ServingCertificate

export const WEBHOOK_SECRET_KEY = { namespace: WEBHOOK_NAMESPACE, name: WEBHOOK_SECRET }
export const WEBHOOK_COMMON_NAME = 'kubenode-webhook'

export const newCertificate = (host: string, now: number): WebhookCertificate =>
  newServingCertificate({ commonName: WEBHOOK_COMMON_NAME, hosts: [host] }, now)
