#include "cache_refresh/jobs.hpp"

#include <algorithm>

namespace sample {

// One worker is busy with the heavy jobs for two thirds of the time; the light ones are some fifteen a minute.
const std::vector<job_kind>& job_kinds() {
  static const std::vector<job_kind> kinds{
      {"EsportsCache", true, 10, "/catalogues/esports"},
      {"CasinoCache", true, 15, "/catalogues/casino"},
      {"LiveCache", true, 15, "/catalogues/live"},
      {"LottoCache", true, 20, "/catalogues/lotto"},
      {"PromoCache", true, 20, "/catalogues/promo"},
      {"VirtualCache", true, 20, "/catalogues/virtual"},
      {"ChessCache", true, 30, "/catalogues/chess"},
      {"Maintenance", false, 3, "/documents/maintenance"},
      {"BankMaintenance", false, 1, "/documents/bank_maintenance"},
      {"OTPValidation", false, 1, "/documents/otp_validation"},
      {"OTPValidationSetting", false, 1, "/documents/otp_validation_setting"},
      {"FaqContent", false, 5, "/documents/faq_content"},
      {"PmsSetting", false, 2, "/documents/pms_setting"},
      {"Affiliate", false, 3, "/documents/affiliate"},
      {"Country", false, 5, "/documents/country"},
      {"Currency", false, 2, "/documents/currency"},
      {"Language", false, 5, "/documents/language"},
      {"Announcement", false, 1, "/documents/announcement"},
      {"Banner", false, 1, "/documents/banner"},
      {"BonusSetting", false, 2, "/documents/bonus_setting"},
      {"ChatSetting", false, 1, "/documents/chat_setting"},
      {"Jackpot", false, 1, "/documents/jackpot"},
      {"LoyaltyLevel", false, 2, "/documents/loyalty_level"},
      {"MobileVersion", false, 2, "/documents/mobile_version"},
      {"PaymentMethod", false, 1, "/documents/payment_method"},
      {"ResponsibleGaming", false, 5, "/documents/responsible_gaming"},
      {"RiskLimit", false, 1, "/documents/risk_limit"},
      {"SeoContent", false, 3, "/documents/seo_content"},
      {"SportsMenu", false, 1, "/documents/sports_menu"},
      {"TermsContent", false, 5, "/documents/terms_content"},
  };
  return kinds;
}

const job_kind* find_job_kind(const std::string& name) {
  const auto& kinds = job_kinds();
  const auto at = std::find_if(kinds.begin(), kinds.end(), [&](const job_kind& k) { return k.name == name; });
  return at == kinds.end() ? nullptr : &*at;
}

}  // namespace sample
