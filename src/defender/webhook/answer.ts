// The answers to an AdmissionReview, in the API server's format.

export interface AdmissionAnswer {
  readonly apiVersion: 'admission.k8s.io/v1'
  readonly kind: 'AdmissionReview'
  readonly response: {
    readonly uid: string
    readonly allowed: boolean
    readonly status?: Refusal
    readonly warnings?: readonly string[]
  }
}

interface Refusal {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: { readonly retryAfterSeconds: number }
}

/** `uid` is the request's. */
export const allowed = (uid: string): AdmissionAnswer => answer({ uid, allowed: true })

export const refused = (uid: string, status: Refusal): AdmissionAnswer => answer({ uid, allowed: false, status })

export const forbidden = (uid: string, message: string): AdmissionAnswer =>
  refused(uid, { code: 403, reason: 'Forbidden', message })

const answer = (response: AdmissionAnswer['response']): AdmissionAnswer => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response,
})
