/* Tokens that OpenSSL signed, all until 2100-01-01, by keys that are gone. */
#ifndef SN_TEST_JWT_TOKENS_H
#define SN_TEST_JWT_TOKENS_H

#include <stdbool.h>

#define TEST_SUBJECT "ae5473b6-8dad-498d-b915-1234567890ab"

static const struct {
    const char *algorithm;
    const char *public_key;
    const char *token;
} good_tokens[] = {
    {"ES256",
     "eyJrdHkiOiAiRUMiLCAiY3J2IjogIlAtMjU2IiwgIngiOiAidmVPZkhDd24zekVpLWlUSWtDQnY5VG"
     "FMYjhuYzBvdVNTc3U5cy1YcHlpTSIsICJ5IjogImpCb0otM3MyNjVBYlVLXzBNeGlWZGdjSHB1b1da"
     "QllVLWdJSW1nZnlGTHcifQ",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.oAj9cPEN1nl"
     "UDlpQY2yKBV0GS6zXN2Z93mIR8ARnmXAiXateSxr6uvGl_9NX58ZyxK3Ci5epm1vg7FwJ5hkEvw"},
    {"ES384",
     "eyJrdHkiOiAiRUMiLCAiY3J2IjogIlAtMzg0IiwgIngiOiAiOWM2cUVTdlF3dFl1SWdDMHJfcXZUT3"
     "BDa01wQXNXam9DWGJHbzNZQm9SRkdnX0c0V3ZZeEsyWU5oWmRtdU9nSyIsICJ5IjogIkxfMjlSekNE"
     "cmEweE1hYnM5azVrR3NpYVprSGlNRmJzUjVlTk8tdjRvQWFkQndKQm8tcndKUnJHSTFaMFc4ZHkifQ",
     "eyJhbGciOiAiRVMzODQiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.54AQCYo3CK7"
     "1PE7LbZWrjZ9jIjvWOK6tToR7YecdE6uUFyKm_gM_cS4pP4bKGWghXFsV23jFFCR0DotehumOLXbjm"
     "iiscbj3u-_hadJfrHF_g_CJyITV_PHT-sa6L5zl"},
    {"ES512",
     "eyJrdHkiOiAiRUMiLCAiY3J2IjogIlAtNTIxIiwgIngiOiAiQUo1Yl9WZHVLLXl2N3M0eFQzcmwzX2"
     "dyMVJNRmV3NHVuYTVsbGZiYkRYSENWem56NVdVa25QLUpZTkdUZ2lha2owdGpZRF9uQ0pYaExWaDlk"
     "LXdjODk1dCIsICJ5IjogIkFhbURlR3RYN2hRZXNJcWY4dFFyOWY4N2UyYjAzSHA1dXZweVp5Z1l2N3"
     "hIZHRoZnJCY0NkUGJCUGtkcGdod2xzcTdJQWZibE9kbnN1MWM1clp0b2UyTXYifQ",
     "eyJhbGciOiAiRVM1MTIiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.ASZHWcJ1Q8M"
     "bojKD2ftKWbmP0uKSUYyYctGKXlDYCn2DfHLo2Vpyw8XIEIg2x_-ROxaGtvKpV-BxIVVwo_mCj3nQA"
     "ZpfzUXGYQBz9WhjpHylYF9jZORXTDdNzJB5h2mRcAY3Gs8jtPzhH_7-h2EgLyP-R0L7EpIcxYXldw1"
     "iYE5BVFNa"},
    {"RS256",
     "eyJrdHkiOiAiUlNBIiwgIm4iOiAibWRSSE5KclJ6UDcxWFdtYm5BbDZvQzBPWVZiQ2NRZEtRQ0VPR0"
     "VMQk4yMzNUclItcEUwdWRrckZIaGRVUWY5LXQxZmhTaW5aMk9BRnBvSFhnWUEtaWliandyNmVKNkFo"
     "NkFwU3d1cW9NY01QbHk2QVF5RFFBVjUzbGdMeE9vQjlQVDh3S3dfX2pZenZZUnUwUnhBTUhRS19xNG"
     "NiZXZkSGR2NC1ISERDa2V3TWJJRzQ5eV9ZQlBIaExFM3NHXy1uMmR5NlFQOEFXLVlxV09YaEIzUVRz"
     "UVpCaTNQS2xmcUlSRFc0bXVLWW9hTmRpSlRlNmFXSkZGV3VGUjVfa25HLU91VGNmNGRSZ25QeW5KWE"
     "hxazdKN05LcVpjZ3dOOWlHQjhuSWhycTBrMHV0Y0xZUzlFcmQ3VUl6ZnEzejg1dzg3eWNfd2tlZUY2"
     "TGhBMndNSnFXcUp3IiwgImUiOiAiQVFBQiJ9",
     "eyJhbGciOiAiUlMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.lcHOcDnG9io"
     "dnx-2pc2i5ohMvpqxrR2cnr4em1RdiW_k_Bko0vNPkNNlriYJH2D1HLpJNzJcDYRynyVbcCS5zVFYW"
     "6NRC7GWApS7X9V-eYHcDzRjJkgg9MADeflEUWN7VJztiRBOxKyO5qOgbjh5zme2lgctrEmmlQUIYhH"
     "6wP2D1DrYF0lMWPVYmYqjtM3JaWbCL0zTGTFtmkqu1gZfnhGlIkNEFTtMBGpHKrE3eLY-srOqPZUWb"
     "OHO9jtZ1ggtxC6WgqNlpumAxgHucq_RMZ9YtE9CltxgmjqhJWrmAwuiD7HDF1sv4MJfpSUH4XB2pFq"
     "bSPlWFNMJC1KQx1qZSA"},
    {"RS384",
     "eyJrdHkiOiAiUlNBIiwgIm4iOiAib0xPVzdVamZhdmFNZDducDFlckJLZHhsdl9kdHNlQ3ZYOGdWXz"
     "ljUUJsNzhGTTJ2cXkxcmVTSzFfTC1VLW40UjRUdTE3bmFyZm1SUmVwaFcwa3JIS3k0VHBFUUxwRkxW"
     "ODQ0NS15YzRBNTlmYVpQbHlIcWVEWEJQRmdmQzlONkpFX1I3Ui1ESENxbWd6V1RzZ0I2VWtWN05QME"
     "1rbUI4S3hDUlp5bFNaenpzakJnblJzYkhMUlB6aGVEcjBHbDRXVnN5bFhBZk1GOE52NmZram9LQUVh"
     "eWNJcWU1VnhSdTZLUG9TYkpNWkRPWTBRemRUQ1FqLURBQ00yYWlsMV9qQXp3d29MRjdvSFkwTHBHTU"
     "RnMll6dlIyOWFYVElRdkFueDVWUWtmQmpqQndPejU4cFdUdzZ3dEZfa1U2MU9rdWVDbmN0b1RUVGdo"
     "d3dOR0hyeElEbzl3IiwgImUiOiAiQVFBQiJ9",
     "eyJhbGciOiAiUlMzODQiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.l1MOkjtDbYR"
     "15-_srigN0rKIxgE9c77qwhPamabgq1dhDbQIqQ9tIZAyImx7G_xbstuGKBOPPAzmiugR5kmw9aoNJ"
     "YPoacBtUAwvtcVXegYq7jmbrk7og-y6v_gHe79L7HDjUNxCS4huoPaCqR3Mdeah1IXq_ZXcYB90342"
     "cr0m6gtt_Tx402lz58By33q6C3wewSHkCirE8xVepliDQ64O2olfsi0ULhTJb029bXwMVdVEKlL1nn"
     "zhfVa12ETdOl_BsrQ3RwViDTVx4KZ5csPWmmgRHT53rC9LSPgXAWa4vfjlNgfH__b-fiyhQU10Q9Rp"
     "_5DQrupni1dnTS3nfyA"},
    {"RS512",
     "eyJrdHkiOiAiUlNBIiwgIm4iOiAieVFaZnBWdXJ2MFU2SUJ6ZFVSTElUbkRRRWdPb29fU0RtdHA0c0"
     "1Xc1g1UkdlS0tCYXJTTDNjQ2pzT1Y2Z1Job3BUc21MQmJEZXRQVEY5U0FpNTdpTUpoSFRSMFVqbDFj"
     "b0hQZl9scXlHVjVCNzMxb3pNZzVzZkZZSnUtNkhCdk9OS1hnUkRiSW5hdjJjYXVJSDRQRVY3MjBlcE"
     "JnWTdvODNmQk9sYjdkb0k4RGxXZEl4NVFfRFR0dWg0RjkzVHl4VVd0dkJEWV9VR3ZsSEM5SFF6R2ps"
     "WEFpZXNhbmJKN1djUGdfTjBjcjVVNWNOX1NHNGdPMF9nVVBSZG0wSXpUSkNGNGNHVjlXcUdMS3JGZ1"
     "91a0xDMXZNem1jQ0F1bGNDWk9LRy0tbWo3ekpZQURySVRLWVlqODNLR1A0Y3RRcjNvWHA2R1FSdmE4"
     "ZVplby05NndRclJRIiwgImUiOiAiQVFBQiJ9",
     "eyJhbGciOiAiUlM1MTIiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.DATe6sJFZCc"
     "OWyY1D8sd6uz8W4ou16IrQ9yL_r8fWLiPd2JbzM06JGp3teNeRqPYhuySUe5LI8muAB7XGektHpFkc"
     "NTV0Leo9rwvc3TSBJy4bm4bp1grC3fidRQIw2wx1MPqX-tkldWRYUfNDOYQIqUybNJf3uZfjWYYfrH"
     "ffyTaKsAdx7ilp0oAgSwVX1PPOzpqa3Gv_Zt83weMU6j34MVILMX5WoUJfo8SJ8MaqhuRD1kwOG7xq"
     "TcL5nEXEETZ5HuZRiEoW6HDwhA5G1egCQpeJmzBdIB3Ma7u9AqEzFtYN_OZsyN2qbSzxlnpZ2a3ntv"
     "7gQf5z9MD3iThXLtDqA"},
};

/* By the ES256 key above. */
static const struct {
    const char *what;
    const char *token;
    bool is_good;
} odd_tokens[] = {
    {"exp in quotes",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiAiNDEwMjQ0NDgwMCIsICJpc3MiOiAiaHR0cHM"
     "6Ly9naXRodWIuY29tL2RvdG5ldC9kb3RuZXQtbW9uaXRvci9nZW5lcmF0ZWtleStNb25pdG9yQXBpS"
     "2V5IiwgInN1YiI6ICJhZTU0NzNiNi04ZGFkLTQ5OGQtYjkxNS0xMjM0NTY3ODkwYWIifQ.PZT0OFGD"
     "2V5yl2Z5yumHS9h3NqnCQWHED2CafGQmqJ0fNF7_-2zMQYep4zBP2esEd0Gic818kfMW_SKg4ZhyPQ",
     true},
    {"one of several audiences",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiBbIngiLCAiaHR0cHM6Ly9naXRod"
     "WIuY29tL2RvdG5ldC9kb3RuZXQtbW9uaXRvciJdLCAiZXhwIjogNDEwMjQ0NDgwMCwgImlzcyI6ICJ"
     "odHRwczovL2dpdGh1Yi5jb20vZG90bmV0L2RvdG5ldC1tb25pdG9yL2dlbmVyYXRla2V5K01vbml0b"
     "3JBcGlLZXkiLCAic3ViIjogImFlNTQ3M2I2LThkYWQtNDk4ZC1iOTE1LTEyMzQ1Njc4OTBhYiJ9.Z9"
     "-CAJ1-e7VuCSCswL-k1Flvm1VBj5XKL7cwXjpcyRD8cXF5HpbgKoXVLvWG1DL8ZZ7mx7Kc0qhuW51L"
     "P9U2uQ",
     true},
    {"another audience",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9leGFtcGxlLm9yZ"
     "yIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8vZ2l0aHViLmNvbS9kb3RuZXQvZG9"
     "0bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtleSIsICJzdWIiOiAiYWU1NDczYjYtO"
     "GRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.oRxAdqHo5AEVOJ-dsoQxqfv0hYZS_LJIpmM8iBS"
     "cOVUkuvZzRrKzY_jtkkHn4kCsgFrMXSahoLJ04HdLl4-Rkg",
     false},
    {"no audience",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogI"
     "mh0dHBzOi8vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXR"
     "vckFwaUtleSIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.w"
     "nHZJsDPyjmA4OdxtqLqKHBW3-wHOv5GdLNKzscbdqdsYJvML6pIc9HrT7dLZZ4iFU0Z_gEkBcxe-VL"
     "BnPtPBA",
     false},
    {"another issuer",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogIm1lIiwgInN"
     "1YiI6ICJhZTU0NzNiNi04ZGFkLTQ5OGQtYjkxNS0xMjM0NTY3ODkwYWIifQ.cl9VGkLONB6NXbtz6f"
     "QWEhljbMw2179ScPfOFK_do_Cd_mA0ECI6JQr2rHMRXIzyRdL8VJz12KGE_4YWkQtM-w",
     false},
    {"another subject",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAieW91In0.kZPNXq9WmZ1rP0Ky2Ht3AH_8tFyZwHoODupJEqlBspUSaf7HgLOEbku"
     "6q69MHaFjzZpOGYQpeN2I9gAKDicyIw",
     false},
    {"no subject",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SJ9.nctzsXVITwqGlOFn8fvkWjCLxYiRMkIfJgwZ_V002E29tt1mflTxEfICKhUFGXDEaFbKgGAmGF"
     "eOrQ1zVZjRpQ",
     false},
    {"no end",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJpc3MiOiAiaHR0cHM6Ly9naXRodWIuY29tL2RvdG5ldC9"
     "kb3RuZXQtbW9uaXRvci9nZW5lcmF0ZWtleStNb25pdG9yQXBpS2V5IiwgInN1YiI6ICJhZTU0NzNiN"
     "i04ZGFkLTQ5OGQtYjkxNS0xMjM0NTY3ODkwYWIifQ.2a0H7J7KNGOdU2rl2qk_gn6Xhs73jiRYMU-0"
     "ZtuUeVlPcpictF2uQruRXFGSa8VHqyZOeHM56rwXnOe5iGVJEQ",
     false},
    {"an end that is no number",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiAic29vbiIsICJpc3MiOiAiaHR0cHM6Ly9naXR"
     "odWIuY29tL2RvdG5ldC9kb3RuZXQtbW9uaXRvci9nZW5lcmF0ZWtleStNb25pdG9yQXBpS2V5IiwgI"
     "nN1YiI6ICJhZTU0NzNiNi04ZGFkLTQ5OGQtYjkxNS0xMjM0NTY3ODkwYWIifQ.4F6TOQV-u1VMguKb"
     "evsJaWyzSy-qdBSA6sdB21mpKa_bwMKDBYpQwQRW6U8udSbICBnFOPU1lwAR37L5Nf-lSw",
     false},
    {"a negative end",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiAtMSwgImlzcyI6ICJodHRwczovL2dpdGh1Yi5"
     "jb20vZG90bmV0L2RvdG5ldC1tb25pdG9yL2dlbmVyYXRla2V5K01vbml0b3JBcGlLZXkiLCAic3ViI"
     "jogImFlNTQ3M2I2LThkYWQtNDk4ZC1iOTE1LTEyMzQ1Njc4OTBhYiJ9.Y6tXkmCwGGB6q3C0n7sYW2"
     "28J1oqsW2eWy_e5jnjy77McDkyhh7BRBxSR4LEF7gvP9yZ8GAvsQd_LoIqoNoMkA",
     false},
    {"not before 2099",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIiwgIm5iZiI6IDQ"
     "wNzA5MDg4MDB9.GV9p_WHTmzpSj1YSWGSAwt9eaA5Tjo_rtNhHAMrd_V-ejy9zuZGvQMngz__bGYdQ"
     "nLVg4X0F4kZGmA0dPbd19A",
     false},
    {"no type",
     "eyJhbGciOiAiRVMyNTYifQ.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL2RvdG5ldC9kb3RuZXQ"
     "tbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8vZ2l0aHViLmNvbS9kb"
     "3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtleSIsICJzdWIiOiAiYWU"
     "1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.DS7UAJVyzmFUIUtL61BFZ8LRGRetu"
     "bTCFSkR98-WML0v42ooQjiArxGRPWmzFZ57ZmcsEqIayvW_s-TiY_AYtA",
     false},
    {"something critical",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCIsICJjcml0IjogWyJ4Il19.eyJhdWQiOiAiaHR0c"
     "HM6Ly9naXRodWIuY29tL2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCA"
     "iaXNzIjogImh0dHBzOi8vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZ"
     "XkrTW9uaXRvckFwaUtleSIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg"
     "5MGFiIn0.S_ANyx3uJtkaPhvo8-RCtJa55MOUrBrkpHYp28zfGV45ph8WpRvGhyfF72RxkJD-RINQP"
     "sM273PE8AwYHaXREQ",
     false},
    {"none",
     "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL2RvdG"
     "5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8vZ2l0"
     "aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtleSIsIC"
     "JzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.",
     false},
    {"a shared secret: our public key",
     "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL2Rvd"
     "G5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8vZ2l"
     "0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtleSIsI"
     "CJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.A0UofDhU-6tBA78"
     "gV3Guk8cAz_OAsWY0jlFtlE1X_yc",
     false},
    {"the signature of another token",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.VlzEZReShRe"
     "KIoA5dQ2qbpmECPW_PKFAhnUDrOWBeGfHQUXVAy7_m799fQWOR4YpbCCyy7TnFwkhBJtitEg_nA",
     false},
    {"RS256 by a key of its own",
     "eyJhbGciOiAiUlMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.lcHOcDnG9io"
     "dnx-2pc2i5ohMvpqxrR2cnr4em1RdiW_k_Bko0vNPkNNlriYJH2D1HLpJNzJcDYRynyVbcCS5zVFYW"
     "6NRC7GWApS7X9V-eYHcDzRjJkgg9MADeflEUWN7VJztiRBOxKyO5qOgbjh5zme2lgctrEmmlQUIYhH"
     "6wP2D1DrYF0lMWPVYmYqjtM3JaWbCL0zTGTFtmkqu1gZfnhGlIkNEFTtMBGpHKrE3eLY-srOqPZUWb"
     "OHO9jtZ1ggtxC6WgqNlpumAxgHucq_RMZ9YtE9CltxgmjqhJWrmAwuiD7HDF1sv4MJfpSUH4XB2pFq"
     "bSPlWFNMJC1KQx1qZSA",
     false},
    {"ES384 by a key of its own",
     "eyJhbGciOiAiRVMzODQiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.bJKOU8UL48v"
     "VG4vx6hEwuiNbXwEAUkdw4Pn6X-PZOaegHMSsvIPwveD5fPwik5aloPnosMU6p3f0Ukw3hvws_MKj-"
     "jFHnpFei3OA7MABXRNdTZN4D2v8KxOJl8O2ejeT",
     false},
    {"a signature of DER",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.MEYCIQCoeeV"
     "sUNirBMUhSXC54avUa-FbfRw2qTEWQRtuwddktwIhAKNHvu7r2BftDuqATy7ftnXStFevX_AedcFzC"
     "SyliImy",
     false},
    {"a signature of zeros",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.AAAAAAAAAAA"
     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
     false},
    {"a fourth part",
     "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCJ9.eyJhdWQiOiAiaHR0cHM6Ly9naXRodWIuY29tL"
     "2RvdG5ldC9kb3RuZXQtbW9uaXRvciIsICJleHAiOiA0MTAyNDQ0ODAwLCAiaXNzIjogImh0dHBzOi8"
     "vZ2l0aHViLmNvbS9kb3RuZXQvZG90bmV0LW1vbml0b3IvZ2VuZXJhdGVrZXkrTW9uaXRvckFwaUtle"
     "SIsICJzdWIiOiAiYWU1NDczYjYtOGRhZC00OThkLWI5MTUtMTIzNDU2Nzg5MGFiIn0.h1G4SGxuZY9"
     "e9WqeThk-qOeTYXubyI2u7eALINc-zglkWFkJ7bPOgRvzBEgS2wAzryQ9bfQgmKQlwffS817PlA.x",
     false},
};

#endif
