// The individual certificates of a bundle.

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g

export const certificatesIn = (pem: string): readonly string[] => pem.match(CERTIFICATE) ?? []
