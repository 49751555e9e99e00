// The certificates of a bundle, one by one.

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g

export const certificatesIn = (pem: string): readonly string[] => pem.match(CERTIFICATE) ?? []
