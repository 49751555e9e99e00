// The part of oidc-provider that tests use; the package comes without types.
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  interface Context {
    readonly path: string
    readonly status: number
    body: unknown
    redirect(url: string): void
  }
  export class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    callback(): RequestListener
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): void
  }
}
