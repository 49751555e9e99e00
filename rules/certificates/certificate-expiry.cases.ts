// When the rule for certificates fires, and when it must not; the component is kubelet.
import type { RuleCase } from 'kubenode/rule-case'
import { certificateExpiry } from './certificate-expiry.ts'

export const rule = certificateExpiry('kubelet')

export const cases: readonly RuleCase[] = [
  {
    name: 'a certificate that was not renewed in time',
    conditions: [{ type: 'CertificateExpiring', status: 'True', reason: 'NotRenewed' }],
    verdict: 'fires',
  },
  {
    name: 'a certificate with time left',
    conditions: [{ type: 'CertificateExpiring', status: 'False', reason: 'Valid' }],
    verdict: 'does not fire',
  },
  {
    name: 'nobody signs: a restart would leave it without any',
    conditions: [{ type: 'CertificateExpiring', status: 'True', reason: 'SignerUnavailable' }],
    verdict: 'does not fire',
  },
]
